"""`jumar parallel` as typed: the table, JSON, the page, code, pictures for learners, and mistakes."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

from jumar.cli.main import main

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "parallel.md"
BASE = ["parallel", "llama-7b", "--cards", "8", "--global-batch", "16"]


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_table_answers_the_questions(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, *BASE)
    assert code == 0
    for words in ("does it fit?", "on how few cards?", "which knob first?", "what if the batch doubles?", "start it"):
        assert words in out
    assert re.search(r"times are modelled; \d+ published runs took 0\.\d+ to \d\.\d+ times as long", out)


def test_plan_that_does_not_fit_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, *BASE[:4], "--dp", "8", "--shard", "0", "--recompute", "full", "--global-batch", "8")
    assert code == 1
    assert "no: the leanest plan" in out


def test_json_has_plans_and_constants(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, *BASE, "--tp", "8", "--recompute", "full", "--no-sequence", "--json")
    document = json.loads(out)
    assert code == 0 and document["times_are"] == "modelled"
    plan = document["plans"][0]
    assert plan["tp"] == 8 and plan["stages"][0]["total"] == plan["peak_bytes"]
    assert document["constants"]["hccs"]["confidence"] == "general"


def test_page_is_one_file_with_pictures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    assert _run(capsys, *BASE, "--html", str(path))[0] == 0
    page = path.read_text()
    assert (
        page.count("<svg") == 1
        and page.count('class="stack"') == 1
        and "GiB usable" in page
        and "http" not in page.partition("<h2>Code")[0].replace("http-equiv", "")
    )


@pytest.mark.parametrize("kind", ["mindspore", "mindspore-old", "torch", "network"])
def test_code_is_python(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    words = [
        "--pp",
        "2",
        "--tp",
        "2",
        "--dp",
        "2",
        "--recompute",
        "full",
        "--shard",
        "1",
        "--no-sequence",
        "--schedule",
        "1f1b",
    ]
    code, out, _ = _run(capsys, *BASE, *words, "--code", kind)
    assert code == 0
    ast.parse(out)
    expected = {
        "mindspore": "AutoParallel(", "mindspore-old": "set_auto_parallel_context(", "torch": "fully_shard(block",
        "network": "class Network",
    }  # fmt: skip
    assert expected[kind] in out


def test_learners_see_every_mode(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "parallel", "explain", "--cards", "4")
    assert code == 0
    assert "AllReduce" in out and "ReduceScatter" in out and "AlltoAll" in out and "columns 3 of 4" in out
    assert _run(capsys, "parallel", "explain", "colum")[2].startswith("error: unknown mode: `colum`")


def test_list_names_presets_and_constants(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "parallel", "--list")
    assert code == 0 and "gpt3-175b" in out and "matrix_peak" in out and "derived" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parallel"], "give one model"),
        (["parallel", "lama-7b"], "no such model: `lama-7b`"),
        ([*BASE, "--chip", "910Z"], "unknown chip: `910Z`"),
        ([*BASE, "--tp", "3"], "tp 3 cannot fill 8 cards"),
        ([*BASE, "--set", "hccs"], "not NAME=VALUE: `hccs`"),
        ([*BASE, "--memory", "much"], "not a size of memory: `much`"),
        ([*BASE, "--params", "bfloat16"], "MindSpore's optimizer for `adam` takes no weights in bfloat16"),
        ([*BASE, "--layers", "a,b"], "not counts of layers: `a,b`"),
        (["parallel", "resnet-50", "--seq", "128"], "`resnet-50` has no sequence"),
        (["parallel", "resnet-50", "--tp", "2"], "tensor parallel is not modelled for `resnet-50`"),
        (["parallel", "resnet-50", "--prove", "1"], "not for `resnet-50`"),
        (
            [*BASE, "--framework", "torch", "--pp", "2", "--prove", "1"],
            "pipelines of PyTorch are modelled, but not run",
        ),
        ([*BASE, "--ep", "2"], "`llama-7b` has no experts to divide"),
        (["parallel", "explain", "--cards", "1"], "one card has nothing to divide"),
        (["parallel", "llama-7b", "--cards", "7", "--global-batch", "3"], "no plan for 7 cards"),
    ],
)
def test_mistakes_say_what_is_wrong(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    code, out, err = _run(capsys, *words)
    assert code == 2
    assert message in err and "Traceback" not in err and out == ""


def _blocks(path: Path) -> list[str]:
    return re.findall(r"^```(?:sh|text)\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)


COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_guide_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = _run(capsys, *shlex.split(line)[1:])
    assert code in (0, 1), err
    assert out


def test_both_languages_of_the_guide_have_the_same_commands() -> None:
    assert _blocks(GUIDE) == _blocks(GUIDE.with_name("parallel.zh-CN.md"))
