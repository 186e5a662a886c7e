"""`python3 -m ais_bench` works where no real one is installed."""

import sys

from jumar.export.standin.bench.main import main

sys.exit(main())
