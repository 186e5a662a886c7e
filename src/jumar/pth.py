"""What jumar.pth runs, as text and not as a module: an interpreter that was not asked for emulation imports nothing.

Where JUMAR_EMULATE is not set, torch_npu is there: a finder without imports waits for it, and adds a hint to its error.
"""

import posix
import sys

if b"JUMAR_EMULATE" in posix.environ:
    import jumar.start

    jumar.start.begin()
elif not (b"ASCEND_HOME_PATH" in posix.environ or "jumar.start" in sys.modules):

    def JumarHint(name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "torch_npu":
            return None
        from jumar.runtime.hooks import hint

        return hint.find(name, path)

    JumarHint.jumar = JumarHint.find_spec = JumarHint  # type: ignore[attr-defined]
    sys.meta_path.insert(0, JumarHint)  # type: ignore[arg-type]
