"""A call that works for every option that names a file to write, so that only the place can be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import bad_inputs
import click
import pytest

from program_files import program_text

TRAIN = program_text(__file__, "reads_data")
CONFIG = {
    "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "intermediate_size": 512, "vocab_size": 1000, "max_position_embeddings": 128,
}  # fmt: skip
CONF = "".join(f"address_{card}=192.168.1.{card + 1}\nnetmask_{card}=255.255.255.0\n" for card in range(8))
TRACE = [{"ph": "X", "name": "a", "ts": 1.0, "dur": 2.0, "pid": 1, "tid": 1}]
WRITES = {"--out", "--output", "-o", "--html", "--sarif", "--csv", "--collect", "--save", "--reproducer", "--find-keep",
          "--config", "--logs", "--ops", "--profile", "--keep", "--plan", "--write-baseline"}  # fmt: skip
"""Names of options that say where something is written."""
CALLS = {
    "analyze --sarif": "analyze project --no-cache --sarif OUT",
    "analyze --html": "analyze project --no-cache --html OUT",
    "analyze --csv": "analyze project --no-cache --csv OUT",
    "analyze --plan": "analyze project --no-cache --plan OUT.md",
    "analyze --write-baseline": "analyze project --no-cache --write-baseline OUT",
    "migrate --plan": "migrate project --no-cache --plan OUT.md",
    "migrate --write-baseline": "migrate project --no-cache --write-baseline OUT",
    "migrate --sarif": "migrate project --no-cache --sarif OUT",
    "migrate --html": "migrate project --no-cache --html OUT",
    "migrate --csv": "migrate project --no-cache --csv OUT",
    "migrate --out": "migrate project --no-cache --out OUT",
    "cloud adapt --out": "cloud adapt project/train.py --out OUT",
    "cloud ssh-config --config": "cloud ssh-config ssh://a@b.example:22 --key key --config OUT --write",
    "doctor --collect": "doctor --collect OUT",
    "doctor --html": "doctor --html OUT",
    "export check --html": "export check model.onnx --html OUT",
    "export check --sarif": "export check model.onnx --sarif OUT",
    "export check -o": "export check model.onnx --fix -o OUT",
    "export om --output": "export om model.onnx --soc 310P3 --output OUT",
    "export run --save": "export run model.onnx --save OUT",
    "plan --html": "plan --chip 910B3 --framework torch --html OUT",
    "parallel --html": "parallel config.json --cards 2 --html OUT",
    "report --out": "report project --out OUT",
    "perf fix-trace --out": "perf fix-trace trace.json --out OUT",
    "ranktable make --out": "ranktable make a=hccn.conf --out OUT",
    "ranktable convert --out": "ranktable convert table.json --to 1.0 --out OUT",
}
ELSEWHERE = {
    "cloud pull --output": "needs a job: tests/cloud",
    "compare diff --html": "needs two records: tests/compare",
    "compare diff --reproducer": "needs two records: tests/compare",
    "compare ladder --html": "starts programs: tests/compare",
    "compare ladder --output": "starts programs: tests/compare",
    "compare overflow --html": "starts programs: tests/compare",
    "compare record --output": "starts programs: tests/compare",
    "export run --find-keep": "may be empty, and a full disk has room for that: tests/export",
    "export command --output": "prints a command that names it",
    "launch --logs": "starts programs: tests/launch",
    "perf diff --html": "needs two profiles: tests/perf",
    "perf lint --html": "starts programs: tests/perf",
    "perf lint --keep": "starts programs: tests/perf",
    "perf read --html": "needs a profile: tests/perf",
    "run --ops": "starts programs: tests/emulate",
    "run --profile": "starts programs: tests/emulate",
    "selftest --out": "starts programs: tests/selftest",
}


def options() -> Iterator[str]:
    """Every option of the click tree that names something to write."""
    for path, command in bad_inputs.commands():
        for param in command.params:
            if isinstance(param, click.Option) and bad_inputs.is_place(param) and WRITES.intersection(param.opts):
                yield f"{' '.join(path)} {param.opts[-1]}"


def prepare(folder: Path) -> None:
    """The inputs of the calls."""
    (folder / "project").mkdir()
    (folder / "project/train.py").write_text(TRAIN)
    (folder / "project/doctor.json").write_text('{"version": 1, "tool": {"name": "jumar"}, "kind": "doctor"}')
    (folder / "key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n")
    (folder / "key").chmod(0o600)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "hccn.conf").write_text(CONF)
    (folder / "trace.json").write_text(json.dumps(TRACE))


def model() -> bytes:
    """The smallest ONNX model that does something."""
    onnx = pytest.importorskip("onnx", reason="needs the extra `export`")
    value = onnx.helper.make_tensor_value_info
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"], name="relu")]
    ports = [[value(name, onnx.TensorProto.FLOAT, [1, 8])] for name in ("x", "y")]
    made = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "g", *ports), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    written: bytes = made.SerializeToString()
    return written


def wrong_targets(folder: Path) -> dict[str, str]:
    """Places that cannot be written, by why."""
    for name in ("full", "fixed", "denied"):
        (folder / name).mkdir()
    (folder / "denied").chmod(0o555)
    (folder / "file.txt").write_text("plain text\n")
    (folder / "loop").symlink_to("loop")
    return {
        "no space is left": "full/x",
        "the file system is read-only": "fixed/x",
        "no permission": "denied/x",
        "a part of the path is a file, not a folder": "file.txt/x",
        "its symbolic links lead in a circle": "loop/x",
        "the name is too long": "x" * 300,
    }
