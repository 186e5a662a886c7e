"""Runs at interpreter start (jumar_emulate.pth): waits for `import torch`, then makes the stand-ins ready.

torch loads an installed torch_npu by itself and fails where CANN is missing; a library that is loaded already
under the same name satisfies the loader. Nothing else is imported here: programs without torch must not
notice.
"""

from __future__ import annotations

import sys


class _Watch:
    """An import hook that looks at two names and finds nothing itself."""

    busy = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name not in ("torch", "torch_npu") or self.busy:
            return None
        from jumar.emulate import hook

        self.busy = True  # looking for torch_npu below comes back here
        try:
            if name == "torch_npu":
                return hook.find_torch_npu()
            hook.before_torch()
            return hook.find_torch()
        finally:
            self.busy = False


if not any(isinstance(finder, _Watch) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Watch())  # type: ignore[arg-type]
