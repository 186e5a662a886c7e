"""torchaudio's wheel beside a CPU build of torch: its compiled part is linked with CUDA and does not load.

torchaudio works without that part when there is none, but ends the import when there is one that does not load. Its
own answer for the first case is given in the second: transforms and filters run in Python, forced alignment is refused
by torchaudio itself.
"""

from __future__ import annotations

from types import ModuleType

from jumar.runtime import variables


def after(module: ModuleType) -> None:
    """Called with `torchaudio._extension.utils` as it is imported."""
    if variables.EMULATE.text() == "0":
        return
    load = module._load_lib

    def load_or_do_without(lib: str) -> bool:
        try:
            return bool(load(lib))
        except OSError:
            return False

    module._load_lib = load_or_do_without  # type: ignore[attr-defined]
