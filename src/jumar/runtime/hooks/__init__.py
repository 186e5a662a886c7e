"""What is done in the interpreter of the user's program: around imports, and to MindSpore."""

from __future__ import annotations

import os

SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
"""For PYTHONPATH: changes MindSpore in an interpreter that need not have Jumar (`JUMAR_MINDSPORE_TARGET`)."""
