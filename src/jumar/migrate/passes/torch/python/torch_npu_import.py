"""The import that rewritten lines need; the engine adds it, this file gives it a name and a page."""

from __future__ import annotations

from jumar.migrate.rule import Rule

RULE = Rule("PT100", "torch-npu-import", "the import that rewritten lines need", ())
LOADED_BY_TORCH = (2, 5, 1)
"""Since this release `import torch` loads torch_npu by itself."""
