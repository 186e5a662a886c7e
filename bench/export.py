"""`jumar export check` on a model of 100 MB beside plain `onnx.load`: time and memory, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

BLOCKS = 24
MEASURE = """
import resource, sys, time
begin = time.process_time()
{work}
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(time.process_time() - begin, used)
"""
WORK = {
    "onnx.load": "import onnx; onnx.load(sys.argv[1])",
    "onnx.load and check_model": "import onnx; onnx.checker.check_model(onnx.load(sys.argv[1]))",
    "jumar export check": "from jumar.cli.main import main; main(['export', 'check', '-q', sys.argv[1]])",
}


def model() -> bytes:
    """Blocks of a transformer's size: about 100 MB of weights."""
    import numpy
    import onnx

    helper, nodes, weights = onnx.helper, [], []
    source = numpy.random.default_rng(0)
    for block in range(BLOCKS):
        values = source.standard_normal((1024, 1024)).astype("float32")
        weights.append(onnx.numpy_helper.from_array(values, f"w{block}"))
        before, after = (f"x{block}" if block else "x"), f"x{block + 1}"
        nodes.append(helper.make_node("MatMul", [before, f"w{block}"], [f"m{block}"], name=f"m{block}"))
        nodes.append(helper.make_node("Relu", [f"m{block}"], [after], name=after))
    shape = [1, 1024]
    ends = [helper.make_tensor_value_info(name, 1, shape) for name in ("x", f"x{BLOCKS}")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    made: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    ).SerializeToString()
    return made


def main() -> None:
    if len(sys.argv) == 2:
        Path(sys.argv[1]).write_bytes(model())
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.onnx"
        # A process of its own: a child begins with the peak memory of its parent.
        subprocess.run([sys.executable, __file__, str(path)], check=True)
        print(f"a model of {path.stat().st_size / 1e6:.0f} MB\n")
        print("| what | CPU seconds | MB | ratio |\n| --- | --- | --- | --- |")
        base = 0.0
        for name, work in WORK.items():
            best = (1e9, 0.0)
            for _ in range(3):
                words = [sys.executable, "-c", MEASURE.format(work=work), str(path)]
                out = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
                best = min(best, (float(out[-2]), float(out[-1])))
            base = base or best[0]
            print(f"| {name} | {best[0]:.2f} | {best[1]:.0f} | {best[0] / base:.1f} |")


if __name__ == "__main__":
    main()
