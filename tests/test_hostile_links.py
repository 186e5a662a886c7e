"""Links in a project that lead out of it: nothing behind them is written, and the message names them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core import links, write
from jumar.core.errors import UserError

Run = Callable[..., Any]
CUDA = "import torch\n\nx = torch.zeros(1).cuda()\n"
KEPT = "import torch\n\nprecious = torch.zeros(1).cuda()\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file of the user beside the project."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "precious.py").write_text(KEPT)
    return home


@pytest.fixture
def project(tmp_path: Path, outside: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "train.py").write_text(CUDA)
    return place


def _refused(done: Any, *names: str) -> None:
    assert done.code == 2, done
    assert "leads out of the project" in done.err
    assert all(name in done.err for name in names), done.err


def test_migrate_does_not_write_through_a_linked_file(jumar: Run, project: Path, outside: Path) -> None:
    (project / "model.py").symlink_to(outside / "precious.py")
    _refused(jumar("migrate", project, "--write"), "`model.py` in it is a link", str(outside / "precious.py"))
    assert (outside / "precious.py").read_text() == KEPT
    assert (project / "train.py").read_text() == CUDA, "all targets are checked before the first is touched"


def test_a_link_inside_the_project_is_written_through(jumar: Run, project: Path) -> None:
    (project / "other").mkdir()
    (project / "other/link.py").symlink_to("../train.py")
    assert jumar("migrate", project, "--write").code == 0
    assert (project / "other/link.py").is_symlink()
    assert ".npu()" in (project / "train.py").read_text()


def test_a_helper_file_is_not_written_through_a_link(jumar: Run, project: Path, outside: Path) -> None:
    (project / "jumar_device.py").symlink_to(outside / "new.py")
    _refused(jumar("migrate", project, "--write", "--to", "agnostic"), "jumar_device.py")
    assert not (outside / "new.py").exists()


@pytest.mark.parametrize("option", ["--html", "--sarif", "--plan", "--write-baseline"])
def test_reports_are_not_written_through_a_link(option: str, jumar: Run, project: Path, outside: Path) -> None:
    name = {"--plan": "plan.md"}.get(option, "report.html")
    (project / name).symlink_to(outside / "precious.py")
    _refused(jumar("analyze", project, option, project / name), name)
    assert (outside / "precious.py").read_text() == KEPT


def test_tables_are_not_written_into_a_linked_folder(jumar: Run, project: Path, outside: Path) -> None:
    (project / "tables").symlink_to(outside)
    _refused(jumar("analyze", project, "--csv", project / "tables"), "`tables` in it is a link")
    assert os.listdir(outside) == ["precious.py"]


def test_a_site_is_not_written_into_a_linked_folder(
    jumar: Run, project: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "analyze.json").write_text(jumar("analyze", project, "--json").out)
    (project / "site").symlink_to(outside)
    monkeypatch.chdir("/")
    _refused(jumar("report", project, "-o", project / "site"), "`site` in it is a link")
    assert os.listdir(outside) == ["precious.py"]


def test_adapting_for_the_cloud_does_not_write_through_a_link(jumar: Run, project: Path, outside: Path) -> None:
    script = 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--data")\nopen(p.parse_args().data)\n'
    (project / "train.py").unlink()
    (outside / "train.py").write_text(script)
    (project / "train.py").symlink_to(outside / "train.py")
    _refused(jumar("cloud", "adapt", project / "train.py", "--write"), "train.py")
    assert (outside / "train.py").read_text() == script


def test_a_copy_into_an_existing_folder_does_not_follow_its_links(jumar: Run, project: Path, outside: Path) -> None:
    copy = project.parent / "copy"
    (project / "sub").symlink_to(outside)
    (project / "alone.py").symlink_to(outside / "precious.py")
    assert jumar("migrate", project, "-o", copy).code in (0, 1)
    (project / "sub").unlink()
    (project / "sub").mkdir()
    (project / "sub/precious.py").write_text(CUDA)
    _refused(jumar("migrate", project, "-o", copy, "--force"), "sub")
    assert (outside / "precious.py").read_text() == KEPT


def test_a_marked_folder_is_a_project_wherever_one_is(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    place = tmp_path / "repository"
    (place / ".git").mkdir(parents=True)
    (place / "out").symlink_to(outside)
    with pytest.raises(UserError, match="`out` in it is a link"):
        write.replace(place / "out" / "x", b"")


def test_peoples_own_links_are_followed(tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home with linked folders, also one that is kept in git, is no project."""
    own = tmp_path / "user"
    (own / ".git").mkdir(parents=True)
    (own / ".cache").symlink_to(outside)
    monkeypatch.setenv("HOME", str(own))
    monkeypatch.chdir(own)
    write.replace(own / ".cache" / "x", b"1")
    assert (outside / "x").read_bytes() == b"1"


def test_a_link_swapped_in_while_we_write_is_not_followed(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "project" / "reports"
    folder.mkdir(parents=True)
    real = links.inside(folder / "x")
    folder.rename(tmp_path / "project" / "moved")
    folder.symlink_to(outside)
    with pytest.raises(OSError, match=r"Not a directory|symbolic"):
        links.open_folder(real.parent)


def test_links_swapped_all_the_time(tmp_path: Path, outside: Path) -> None:
    """Whatever the moment, the file outside stays."""
    folder, aside, stop = tmp_path / "p" / "out", tmp_path / "p" / "aside", threading.Event()
    folder.mkdir(parents=True)
    (outside / "x").write_bytes(b"kept")

    def swap() -> None:
        while not stop.is_set():
            os.rename(folder, aside)
            os.symlink(outside, folder)
            os.unlink(folder)
            os.rename(aside, folder)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(300):
            try:
                write.replace(folder / "x", b"new", tmp_path / "p")
            except UserError:
                continue
    finally:
        stop.set()
        thread.join()
    assert (outside / "x").read_bytes() == b"kept"
    assert sorted(os.listdir(outside)) == ["precious.py", "x"]
