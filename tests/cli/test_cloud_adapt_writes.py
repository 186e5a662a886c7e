"""`jumar cloud adapt`: whatever a script writes arrives, or is named as not sent."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from jumar.cli.main import main
from program_files import program_text

sys.path.insert(0, str(Path(__file__).parents[1] / "migrate"))
from cloud_jobs import Platform

V1 = ("--data_url=s3://b/mnist/", "--train_url=s3://b/out/")
WRITTEN = {
    "ckpt/copy", "ckpt/final", "ckpt/joined.json", "ckpt/state", "figures/one.txt", "figures/two.txt", "kept.txt",
    "nets/net.ckpt", "notes/note.txt", "run.log", "saved/part.txt",
}  # fmt: skip


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    found = Platform(tmp_path)
    (found.code / "jumar_cloud.py").unlink()
    monkeypatch.chdir(found.code)
    return found


def _adapt(platform: Platform, name: str, *others: str) -> int:
    (platform.code / "train.py").write_text(program_text(__file__, name))
    for other in others:
        (platform.code / f"{other}.py").write_text(program_text(__file__, other))
    return main(["cloud", "adapt", "train.py", "--write", "-q"])


def test_every_literal_that_is_written_arrives(platform: Platform) -> None:
    _adapt(platform, "writes_everywhere", "saver")
    ((code, out, err),) = platform.run("train.py", *V1)
    assert code == 0, err
    assert set(platform.bucket()) == WRITTEN
    assert "['copy', 'final', 'joined.json', 'state']" in out and "warning" not in err


def test_without_a_job_the_files_lie_where_they_did(platform: Platform) -> None:
    _adapt(platform, "writes_everywhere", "saver")
    ((code, _, err),) = platform.run("train.py")
    work = platform.top / "device0"
    assert code == 0, err
    assert {path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file()} == WRITTEN


def test_a_second_time_changes_nothing(platform: Platform) -> None:
    _adapt(platform, "writes_everywhere", "saver")
    before = {path: path.read_bytes() for path in platform.code.glob("*.py")}
    main(["cloud", "adapt", "train.py", "--write", "-q"])
    assert {path: path.read_bytes() for path in platform.code.glob("*.py")} == before


def test_a_write_that_cannot_be_followed_is_reported(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    assert _adapt(platform, "writes_unseen") == 1
    said = capsys.readouterr().out
    assert "train.py:10:10: MA112" in said and "it is not sent with the results" in said
    assert main(["cloud", "adapt", "train.py", "--json"]) == 1
    assert '"MA112"' in json.dumps(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("target", ["s3://b/out/", "folder"])
def test_the_job_names_what_it_leaves_behind(platform: Platform, tmp_path: Path, target: str) -> None:
    _adapt(platform, "writes_unseen")
    place = target if target != "folder" else str(tmp_path / "outputs")
    ((code, _, err),) = platform.run("train.py", f"--train_url={place}")
    assert code == 0, err
    assert "warning: 1 file was written outside the results and not sent: notes" in err
    ((code, _, err),) = platform.run("train.py")
    assert (code, err) == (0, "")


def test_settings_of_another_module_are_followed_to_the_parser(platform: Platform) -> None:
    """Neither name tells: the calls do, in another file, through a second setting and a recursive function."""
    settings = {"keeper": "kept/here", "images": "pictures", "stage_word": "word"}
    (platform.code / "settings.json").write_text(json.dumps(settings))
    assert _adapt(platform, "uses_file_settings", "file_settings") == 0
    text = (platform.code / "file_settings.py").read_text()
    assert 'jumar_cloud.add_arguments(parser, data=["images"], results=["keeper"], by_name=True)' in text
    ((code, _, err),) = platform.run("train.py", *V1)
    assert code == 0, err
    assert set(platform.bucket()) == {"kept/here/run/log.txt", "kept/here/run/state.ckpt"} and "warning" not in err


def test_unusual_writes_arrive(platform: Platform) -> None:
    (platform.code / "settings.json").write_text(json.dumps({"kept": "from_file"}))
    assert _adapt(platform, "writes_unusual") == 0
    ((code, _, err),) = platform.run("train.py", *V1)
    assert code == 0 and "warning" not in err, err
    folders = {
        "loose/low.bin",
        "fields/x.txt",
        "from_file/x.txt",
        "from_variable/x.txt",
        f"{time.strftime('%Y')}_run/x.txt",
    }
    plain = {name for name in platform.bucket() if not name.startswith("shelf")}
    assert plain == {*folders, "best.txt", "packed.zip", "runs.db"} and len(platform.bucket()) > len(plain)


def test_writes_of_the_shell_are_reported_and_a_moved_folder_is_still_there(
    platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _adapt(platform, "writes_by_shell", "odd_keeper") == 1
    said = capsys.readouterr().out
    assert "the command `echo shell | tee shell.txt` writes a file that is not sent with the results" in said
    assert "odd_keeper.py:7:10: MA112" in said and "/dev/null" not in said
    ((code, _, err),) = platform.run("train.py", *V1)
    assert code == 0, err
    assert "warning: 2 files were written outside the results and not sent: ckpt/x.bin, shell.txt" in err
