"""Asks every address outside that a page names whether it is there; `--list` only prints them.

Not part of the tests: those use no network. What answers 403 or 429 to programs counts as there.
"""

from __future__ import annotations

import argparse
import re
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ADDRESS = re.compile(r"\]\((https?://[^)\s]+)\)|<(https?://[^>\s]+)>")
_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.M | re.S)
_THERE = (403, 405, 429)


def addresses() -> dict[str, list[str]]:
    """The pages that name each address, by address; code blocks do not count."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        text = _FENCE.sub("", path.read_text(encoding="utf-8"))
        for match in _ADDRESS.finditer(text):
            found[match[1] or match[2]].append(path.relative_to(ROOT).as_posix())
    return dict(sorted(found.items()))


def trouble(address: str) -> str | None:
    """Why the address cannot be opened; None if it can."""
    request = urllib.request.Request(address, method="HEAD", headers={"User-Agent": "jumar-links"})
    try:
        urllib.request.urlopen(request, timeout=20).close()
    except urllib.error.HTTPError as error:
        return None if error.code in _THERE else f"answers {error.code}"
    except OSError as error:
        return str(error)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the addresses and stop")
    known = addresses()
    if parser.parse_args().list:
        print("\n".join(known))
        return 0
    with ThreadPoolExecutor(8) as pool:
        bad = {address: why for address, why in zip(known, pool.map(trouble, known), strict=True) if why}
    for address, why in bad.items():
        print(f"{', '.join(sorted(set(known[address])))}: {address}: {why}", file=sys.stderr)
    print(f"{len(known) - len(bad)} of {len(known)} addresses are there")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
