"""Numbers of a line as facts: `60.97 GiB` in a group named `total` becomes bytes, and a row's `when` compares them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"([\d.]+) ?([KMGTPE]?)(?:i?B)?$")
_TEST = re.compile(r"(\w+) ([<>]) ([\d.]+) (\w+)$")
_POWERS = " KMGTPE"


def of(match: re.Match[str]) -> dict[str, float]:
    """Sizes in bytes by the names of the groups; `idle` is what the allocator reserved and no tensor uses."""
    found = {name: size for name, text in match.groupdict().items() if text and (size := _bytes(text)) is not None}
    if "reserved" in found and "allocated" in found:
        found["idle"] = found["reserved"] - found["allocated"]
    return found


def hold(tests: tuple[str, ...], facts: dict[str, float]) -> bool:
    """Do all tests such as `free < 0.1 total` hold? Tests about numbers that the line does not give do not count."""
    return all(_holds(test, facts) for test in tests)


def _holds(test: str, facts: dict[str, float]) -> bool:
    found = _TEST.match(test)
    assert found, test
    left, sign, factor, right = found.groups()
    if left not in facts or right not in facts:
        return True
    limit = float(factor) * facts[right]
    return facts[left] < limit if sign == "<" else facts[left] > limit


def _bytes(text: str) -> float | None:
    found = _SIZE.match(text.strip())
    return float(found[1]) * 1024 ** _POWERS.index(found[2] or " ") if found else None
