"""What the fixture `launch` of these tests is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Launch = Callable[..., subprocess.CompletedProcess[str]]
