"""`python -m jumar`."""

from __future__ import annotations

import sys

from jumar.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
