"""The published MindSpore wheel with its own Ascend plug-in on the stand-ins; and on its CPU target."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from program_files import program_text

Start = Callable[..., subprocess.CompletedProcess[str]]
_TOOLS = Path(__file__).resolve().parents[2] / "tools"

INSTALLATION = program_text(__file__, "mindspore_installation")

TRAINING = program_text(__file__, "mindspore_training")

NETWORKS = program_text(__file__, "mindspore_networks")

OPERATORS = program_text(__file__, "mindspore_operators")

MODES = program_text(__file__, "mindspore_modes")

CUSTOM = program_text(__file__, "mindspore_custom")

SHARDED = program_text(__file__, "mindspore_sharded")

PARALLEL = program_text(__file__, "mindspore_parallel")


@pytest.fixture(scope="module")
def python(built: None, mindspore: str) -> str:
    return mindspore


@pytest.fixture
def start(python: str, machine: str, tmp_path: Path) -> Start:
    def call(program: str, *words: str, options: tuple[str, ...] = (), check: bool = True, **variables: str) -> object:
        (tmp_path / "program.py").write_text(textwrap.dedent(program))
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("JUMAR_", "ASCEND", "RANK"))}
        done = subprocess.run(
            [sys.executable, "-m", "jumar", "run", *options, "--python", python, *(words or ["program.py"])],
            env={**clean, "JUMAR_MACHINE": machine, "JUMAR_EMULATE": "1", **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    return call  # type: ignore[return-value]


def test_installation_checks_of_the_guides(start: Start) -> None:
    done = start(INSTALLATION)
    said = done.stdout
    assert "CRITICAL" not in done.stderr and done.stderr.count("jumar: data sinking is not emulated") == 1
    assert "sunk [2, 4, 6, 8] True" in said
    assert "mul [ 4. 10. 18.]" in said
    assert "add 72.0 Ascend" in said
    assert "installed on platform [Ascend] successfully" in said
    assert "sinking [2.0, 1.0, 3.0]" in said
    assert "complex [2.0, -2.0] Complex64" in said
    assert "refused aclnnConvTbcGetWorkspaceSize call failed" in said
    assert "refused OperatorFactory is not exist, op type: RotatedIou" in said
    assert "jumar: `aclnnConvTbcGetWorkspaceSize` is not emulated (state: refused)" in said
    assert "doubled\nTensor(shape=[3], dtype=Float32, value=[ 2." in said and "printing [3. 5. 7.]" in said
    assert "jumar: graph kernels (jit_level O1) are not emulated: kernels run one by one" in done.stderr
    assert "jumar: MindSpore's own kernels for inference (infer_boost) are not emulated: CANN's" in done.stderr
    assert "engine [2. 3. 4.]" in said and "jumar: the graph engine (jit_level O2, backend GE) is not" in done.stderr


def test_training_is_that_of_the_cpu(start: Start) -> None:
    results = {}
    for target in ("Ascend", "CPU"):
        said = start(TRAINING, "program.py", target, DNNL_MAX_CPU_ISA="AVX2").stdout
        results[target] = json.loads(said.splitlines()[-1])
    assert results["Ascend"].keys() == results["CPU"].keys()
    for name, figures in results["Ascend"].items():
        assert figures == pytest.approx(results["CPU"][name], rel=2e-5), name
        assert figures[2] < figures[0], name


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["graph", "pynative"])
def test_networks_train_as_on_the_cpu(start: Start, mode: str) -> None:
    results = {}
    for target in ("Ascend", "CPU"):
        said = start(NETWORKS, "program.py", target, mode, DNNL_MAX_CPU_ISA="AVX2").stdout
        results[target] = json.loads(said.splitlines()[-1])
    for name in results["CPU"]:
        assert results["Ascend"][name] == pytest.approx(results["CPU"][name], rel=1e-2), name  # float16 inside
        assert results["Ascend"][name][2] < results["Ascend"][name][0], name
    dropped, largest = results["Ascend"]["dropout"]
    assert dropped == pytest.approx(0.25, abs=0.03) and largest == pytest.approx(1 / 0.75)
    assert results["Ascend"]["loss scale"] == [16, 8, 8]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["graph", "pynative"])
def test_operators_of_large_models_are_those_of_the_cpu(start: Start, mode: str) -> None:
    results = {}
    for target in ("Ascend", "CPU"):
        said = start(OPERATORS, "program.py", target, mode, DNNL_MAX_CPU_ISA="AVX2").stdout
        results[target] = json.loads(said.splitlines()[-1])
    assert results["Ascend"].keys() == results["CPU"].keys()
    for name, values in results["Ascend"].items():
        expected = results["CPU"][name]
        largest = max(map(abs, expected))
        assert values == pytest.approx(expected, rel=2e-3, abs=2e-3 * largest), name  # float16 inside


@pytest.mark.slow
def test_shapes_branches_own_operators_and_dumps(start: Start) -> None:
    results = {}
    for target in ("Ascend", "CPU"):
        done = start(MODES, "program.py", target, DNNL_MAX_CPU_ISA="AVX2")
        results[target] = json.loads(done.stdout.splitlines()[-1])
        if target == "Ascend":
            assert done.stderr.count("jumar: MindSpore's profiler is not emulated") == 1
    for name, values in results["CPU"].items():
        assert results["Ascend"][name] == pytest.approx(values, rel=1e-5, abs=1e-6), name
    assert results["Ascend"]["dump"] == pytest.approx([0, 0.1, 0.2])
    assert len(results["Ascend"]["profiler"]) == 1


@pytest.mark.parametrize("mode", ["graph", "pynative"])
def test_operators_of_ones_own_call_aclnn(start: Start, mode: str) -> None:
    found = json.loads(start(CUSTOM, "program.py", mode).stdout.splitlines()[-1])
    expected = [[[10, 6], [4, 8], [12, 14]], [1, 0], [[3, 1], [0, 2], [4, 5], [2, 2], [2, 2], [2, 2]]]
    assert found["results"] == expected[: 1 if mode == "pynative" else None]
    assert found["refused"].startswith("Cannot find operator [Mul] in JSON files")


EXTENSION = """
import sys
import mindspore as ms
from mindspore.ops import CustomOpBuilder

ms.set_device("Ascend")
own = CustomOpBuilder("own", sys.argv[1], backend="Ascend").load()
print(own.larger(ms.Tensor([1.0, 5.0, 3.0]), ms.Tensor([4.0, 2.0, 3.0])).asnumpy().tolist())
"""


@pytest.mark.slow
def test_an_operator_in_cpp_is_built_against_the_headers(start: Start) -> None:
    source = Path(__file__).parent / "programs" / "mindspore_extension.cpp"
    assert start(EXTENSION, "program.py", str(source)).stdout.splitlines()[-1] == "[4.0, 5.0, 3.0]"


@pytest.mark.slow
def test_two_emulated_npus_train_as_one(start: Start, tmp_path: Path) -> None:
    program = PARALLEL.replace(
        'ms.set_device("Ascend", 5)', 'ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")'
    )
    single = start(program, "program.py", "single").stdout.splitlines()[-1]
    assert single.startswith("weights ")
    start(program, "msrun", "--worker_num=2", "--local_worker_num=2", "--join=True", "--log_dir=logs",
          f"--master_port={_free_port()}", "program.py", options=("--cards", "2"))  # fmt: skip
    for rank in range(2):
        assert single in (tmp_path / "logs" / f"worker_{rank}.log").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["graph", "pynative"])
def test_products_with_an_exchange_are_those_of_separate_operators(start: Start, tmp_path: Path, mode: str) -> None:
    program = program_text(__file__, "mindspore_products")
    start(program, "msrun", "--worker_num=2", "--local_worker_num=2", "--join=True", "--log_dir=logs",
          f"--master_port={_free_port()}", "program.py", mode, options=("--cards", "2"))  # fmt: skip
    for rank in range(2):
        log = (tmp_path / "logs" / f"worker_{rank}.log").read_text(encoding="utf-8")
        assert f"products of rank {rank} of 2 are the same" in log


@pytest.mark.slow
def test_pipelines_on_two_cards_have_the_losses_of_one(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(_TOOLS))
    import mindspore_parallel as modes

    names = ["pipeline", "interleaved pipeline", "pipeline with optimizer shard"]
    alone = modes.run(python, 1, names)[0]
    assert all(losses[2] < losses[0] for losses in alone.values())
    assert modes.compare(alone, modes.run(python, 2, names)) == dict.fromkeys(names, "equal")


def test_dry_run_tells_memory_and_collectives(start: Start, tmp_path: Path) -> None:
    variables = {"MS_SIMULATION_LEVEL": "1", "RANK_SIZE": "8", "RANK_ID": "0", "MS_DEV_SAVE_GRAPHS": "2"}
    done = start(SHARDED, **variables, MS_DEV_SAVE_GRAPHS_PATH=str(tmp_path / "graphs"))
    peak = re.search(r"Used peak memory usage \(without fragments\): (\d+)M", done.stderr + done.stdout)
    assert peak is not None and int(peak[1]) > 0
    (orders,) = (tmp_path / "graphs").rglob("comm_execute_order.csv")
    assert "AllReduce" in orders.read_text(encoding="utf-8")


@pytest.mark.slow
def test_data_parallel_on_the_cpu_is_exact(start: Start, tmp_path: Path) -> None:
    options = ("--on", "cpu")
    single = start(PARALLEL, "program.py", "single", options=options).stdout.splitlines()[-1]
    assert single.startswith("weights ")
    start(PARALLEL, "msrun", "--worker_num=2", "--local_worker_num=2", "--join=True", "--log_dir=logs",
          f"--master_port={_free_port()}", "program.py", options=options)  # fmt: skip
    for rank in range(2):
        assert single in (tmp_path / "logs" / f"worker_{rank}.log").read_text(encoding="utf-8")


def test_lists_cover_the_wheel(python: str) -> None:
    where = [python, "-c", "import importlib.util as u; print(u.find_spec('mindspore').submodule_search_locations[0])"]
    package = subprocess.run(where, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    command = [sys.executable, str(_TOOLS / "mindspore_symbols.py"), package, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout
    assert ", 0 not covered" in done.stderr


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
