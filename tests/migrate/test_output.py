"""Writing in place and as a copy: everything survives, and a failure leaves nothing half done."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from jumar.core import write
from jumar.core.errors import UserError
from jumar.migrate import output
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.settings import Settings


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    top = Path("p")
    (top / "sub").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "__pycache__").mkdir()
    (top / "__pycache__" / "x.pyc").write_bytes(b"x")
    (top / "run.sh").write_bytes(b"old\n")
    (top / "run.sh").chmod(0o750)
    (top / "sub" / "data.bin").write_bytes(b"\0\1")
    (top / "sub" / "data.bin").chmod(0o600)
    (top / "link").symlink_to("sub/data.bin")
    (top / "folder-link").symlink_to("sub")
    (top / "broken").symlink_to("nowhere")
    return top


def _result(*files: FileResult, root: str = "p") -> ProjectResult:
    return ProjectResult(root, files, Settings())


CHANGE = FileResult("p/run.sh", b"old\n", b"new\n", (), (("helper.py", b"h = 1\n"),))


def test_copy_keeps_modes_links_and_other_files(tree: Path) -> None:
    assert output.copy(_result(CHANGE), [tree], Path("out")) == []
    out = Path("out")
    assert (out / "run.sh").read_bytes() == b"new\n"
    assert stat.S_IMODE((out / "run.sh").stat().st_mode) == 0o750
    assert stat.S_IMODE((out / "sub/data.bin").stat().st_mode) == 0o600
    assert os.readlink(out / "link") == "sub/data.bin"
    assert os.readlink(out / "folder-link") == "sub"
    assert os.readlink(out / "broken") == "nowhere"
    assert (out / "empty").is_dir()
    assert (out / "helper.py").read_bytes() == b"h = 1\n"
    assert not (out / "__pycache__").exists()
    assert (tree / "run.sh").read_bytes() == b"old\n"
    assert sorted(path.name for path in Path().iterdir()) == ["out", "p"]


def test_copy_into_an_empty_folder_and_with_force_over_another(tree: Path) -> None:
    Path("out").mkdir()
    output.copy(_result(CHANGE), [tree], Path("out"))
    Path("out/own.txt").write_text("stays")
    Path("out/sub/data.bin").write_text("goes")
    with pytest.raises(UserError, match="`out` is not empty"):
        output.copy(_result(CHANGE), [tree], Path("out"))
    output.copy(_result(CHANGE), [tree], Path("out"), force=True)
    assert Path("out/own.txt").read_text() == "stays"
    assert Path("out/sub/data.bin").read_bytes() == b"\0\1"


def test_copy_of_single_files(tree: Path) -> None:
    other = Path("other.py")
    other.write_text("x\n")
    output.copy(_result(CHANGE, root="."), [tree / "run.sh", other], Path("out"))
    assert sorted(path.as_posix() for path in Path("out").rglob("*")) == [
        "out/other.py", "out/p", "out/p/helper.py", "out/p/run.sh",
    ]  # fmt: skip


def test_copy_of_one_file_to_a_file(tree: Path) -> None:
    paths = [tree / "run.sh"]
    output.copy(_result(CHANGE), paths, Path("new/run_npu.sh"))
    assert Path("new/run_npu.sh").read_bytes() == b"new\n"
    assert stat.S_IMODE(Path("new/run_npu.sh").stat().st_mode) == 0o750
    assert Path("new/helper.py").read_bytes() == b"h = 1\n"
    with pytest.raises(UserError, match=r"`new/run_npu.sh` exists"):
        output.copy(_result(CHANGE), paths, Path("new/run_npu.sh"))
    output.copy(_result(), paths, Path("new/run_npu.sh"), force=True)
    assert Path("new/run_npu.sh").read_bytes() == b"old\n"
    with pytest.raises(UserError, match=r"is the file to migrate"):
        output.copy(_result(CHANGE), paths, Path("p/../p/run.sh"))
    with pytest.raises(UserError, match=r"cannot make the folder `p/run.sh`"):
        output.copy(_result(CHANGE), paths, Path("p/run.sh/a.sh"))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("p", "`p` is the folder to migrate"),
        ("p/out", "`p/out` is inside `p`"),
        (".", "`.` contains `p`, the folder to migrate"),
        ("p/../q.txt", "`p/../q.txt` exists and is not a folder"),
    ],
)
def test_places_that_would_do_harm_are_refused(tree: Path, out: str, message: str) -> None:
    Path("q.txt").write_text("")
    with pytest.raises(UserError) as raised:
        output.check_out([tree], Path(out), force=True)
    assert raised.value.message == message
    assert raised.value.hint


def test_no_permission_for_the_copy(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UserError, match="no permission"):
        output.check_out([tree], Path("out"), force=False)


def test_full_disk_leaves_no_copy(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(UserError) as raised:
        output.copy(_result(CHANGE), [tree], Path("out"))
    assert raised.value.message == "cannot write `out`: no space is left"
    assert raised.value.hint == "free some space, or name a place on another disk; nothing was written"
    assert [path.name for path in Path().iterdir()] == ["p"]


def test_what_cannot_be_copied_is_told(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    assert output.copy(_result(CHANGE), [tree], Path("out")) == ["p/pipe"]


def test_in_place_writes_changes_and_new_files(tree: Path) -> None:
    assert output.in_place(_result(CHANGE)) == ["p/helper.py", "p/run.sh"]
    assert (tree / "run.sh").read_bytes() == b"new\n"
    assert stat.S_IMODE((tree / "run.sh").stat().st_mode) == 0o750
    assert (tree / "helper.py").read_bytes() == b"h = 1\n"


def test_in_place_refuses_a_file_that_changed_meanwhile(tree: Path) -> None:
    other = FileResult("p/sub/data.bin", b"\0\1", b"\0", ())
    (tree / "run.sh").write_bytes(b"edited\n")
    with pytest.raises(UserError) as raised:
        output.in_place(_result(other, CHANGE))
    assert raised.value.message == "`p/run.sh` changed while it was being migrated"
    assert (tree / "sub/data.bin").read_bytes() == b"\0\1"
    assert not (tree / "helper.py").exists()


def test_in_place_checks_all_permissions_first(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("run.sh") and real(path, mode))
    written: list[Path] = []
    monkeypatch.setattr(write, "replace", lambda path, data, root: written.append(path))
    with pytest.raises(UserError, match=r"cannot write `p/run.sh`: no permission"):
        output.in_place(_result(FileResult("p/sub/data.bin", b"\0\1", b"\0", ()), CHANGE))
    assert written == []


def test_in_place_when_a_file_has_gone(tree: Path) -> None:
    (tree / "run.sh").unlink()
    with pytest.raises(UserError, match=r"cannot read `p/run.sh`"):
        output.in_place(_result(CHANGE))


def test_a_file_where_the_copys_folder_should_be(tree: Path) -> None:
    Path("p2").write_text("")
    with pytest.raises(UserError, match=r"cannot make `p2/x/out`: `.*/p2` is not a folder"):
        output.copy(_result(CHANGE), [tree], Path("p2/x/out"))


def test_no_place_for_the_copy(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**more: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output.tempfile, "mkdtemp", full)
    with pytest.raises(UserError, match="cannot write `out`: no space is left"):
        output.copy(_result(CHANGE), [tree], Path("out"))


def test_new_file_that_is_there_already_is_not_written_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "helper.py").write_bytes(b"h = 1\n")
    written: list[Path] = []
    monkeypatch.setattr(write, "replace", lambda path, data, root: written.append(path))
    output.in_place(_result(CHANGE))
    assert written == [Path("p/run.sh")]
