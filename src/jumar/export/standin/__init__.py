"""Stand-ins for ATC, the `.om` file, and the modules that load it."""

from __future__ import annotations

import os

MODULES = os.path.join(os.path.dirname(__file__), "modules")
"""Folder of the modules that programs import by the vendor's names."""
