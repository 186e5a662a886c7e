"""What a test must leave as it was for those after it: the environment and the working directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_OF_PYTEST = {"PYTEST_CURRENT_TEST"}
_OF_TORCH = {"ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "TASK_QUEUE_ENABLE", "TORCHINDUCTOR_CACHE_DIR"}
_OF_TORCH |= {"TORCH_DEVICE_BACKEND_AUTOLOAD"}
"""Set by the first `import torch` or the first compilation of a process, for as long as it lives."""


@contextmanager
def none() -> Iterator[None]:
    """Fails if the body changes one of them, and puts both back."""
    before, folder = dict(os.environ), os.getcwd()
    yield
    names = {name for name, _ in before.items() ^ os.environ.items()} - _OF_PYTEST - _OF_TORCH
    for name in names:
        os.environ.pop(name, None)
    os.environ.update({name: before[name] for name in names & before.keys()})
    moved = not _is_here(folder)
    os.chdir(folder)
    assert not names, f"the test leaves variables changed: {', '.join(sorted(names))}; use `monkeypatch.setenv`"
    assert not moved, "the test leaves another working directory; use `monkeypatch.chdir`"


def _is_here(folder: str) -> bool:
    try:
        return os.getcwd() == folder
    except FileNotFoundError:  # the test removed the folder that it went to
        return False
