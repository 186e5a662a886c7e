"""Reads what `npu-smi` prints, for every chip and driver since 20.2: the titles of the table say what each value is.

Layouts: npu-smi 1.8 to 26.0 (310, 310B, 310P, 910, A2, A3) and the 950's, as printed in public repositories, and
hicann/driver src/custom/dmp_cmd (2026-11-15). A title or a row that is not known is refused with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jumar.core.compat import zip
from jumar.machine.parse.layout import UnknownLayout, pairs, whole


class SmiFailed(Exception):
    """npu-smi itself gave up; `code` is the driver's own number for the reason, where it printed one."""

    def __init__(self, message: str, code: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Usage(NamedTuple):
    """Used and total, in MB or pages; None where the board does not report it."""

    used: int | None
    total: int | None


class Chip(NamedTuple):
    """One chip: what torch calls a device. An A3 has two in each NPU; they share `npu`."""

    npu: int
    chip: int
    name: str
    health: str
    device: int | None = None
    """`Device` (310) or `Phy-ID` (A3) as printed; other layouts print none: then the order counts."""
    bus: str | None = None
    power: float | None = None
    temp: int | None = None
    busy: int | None = None
    """AI core use in percent; `NPU Util` on a 950."""
    pages: Usage | None = None
    ddr: Usage | None = None
    hbm: Usage | None = None

    @property
    def memory(self) -> Usage | None:
        """The memory that programs get: HBM where there is some, else DDR."""
        return self.hbm if self.hbm is not None and self.hbm.total else self.ddr


class Process(NamedTuple):
    npu: int
    chip: int
    pid: int
    name: str
    """Empty when the process is in another container."""
    memory_mib: int


class Info(NamedTuple):
    """`npu-smi info`."""

    tool: str
    driver: str
    chips: tuple[Chip, ...]
    processes: tuple[Process, ...] | None
    """None when there is no list of processes (a 310B prints none), or one that is not understood."""
    notes: tuple[str, ...]
    """Warnings that npu-smi printed around the table, and what in it was not understood."""


class Mapped(NamedTuple):
    """One row of `npu-smi info -m`; controllers on the board (`Mcu`) are left out."""

    npu: int
    chip: int
    logic: int | None
    physical: int | None
    name: str


_NUMBER = r"(-|NA|N/A|\d+(?:\.\d+)?)"
_USAGE = r"((?:NA|-|\d+)\s*/\s*(?:NA|-|\d+))"
_TITLES = {
    "NPU ID": ("npu", r"(\d+)"),
    "NPU": ("npu", r"(\d+)"),
    "Name": ("name", r"(\S.*?)"),
    "Health": ("health", r"(\S+)"),
    "Power(W)": ("power", _NUMBER),
    "Temp(C)": ("temp", _NUMBER),
    "Hugepages-Usage(page)": ("pages", _USAGE),
    "Chip": ("chip", r"(\d+)"),
    "Device": ("device", r"(\d+|NA|-)"),
    "Phy-ID": ("device", r"(\d+|NA|-)"),
    "Bus-Id": ("bus", r"(\S+)"),
    "AICore(%)": ("busy", _NUMBER),
    "NPU Util(%)": ("busy", _NUMBER),
    "Memory-Usage(MB)": ("ddr", _USAGE),
    "HBM-Usage(MB)": ("hbm", _USAGE),
}
"""Title in the table: field of `Chip`, and what its value looks like."""
_PROCESS_TITLES = {
    "NPU ID": "npu",
    "NPU": "npu",
    "Chip": "chip",
    "Process id": "pid",
    "Process name": "name",
    "Process memory(MB)": "memory",
    "Process id in container": "",
}
_VERSIONS = re.compile(r"\|\s*npu-smi\s+(\S+)\s+Version:\s*(\S+)\s*\|")
_FAILED = re.compile(r"^.*dcmi mod\w+ initiali[sz]ed? failed.*$|^.*There is no NPU card.*$|^.*\bret is -\d+.*$", re.M)
_MAP_TITLES = {"NPU ID": "npu", "Slot ID": "", "Chip ID": "chip", "Chip Logic ID": "logic", "Chip Phy-ID": "physical",
               "Chip Name": "name"}  # fmt: skip


def info(text: str) -> Info:
    """The table of `npu-smi info`, and the processes below it."""
    lines = [line.strip() for line in text.splitlines()]
    heads = [number for number, line in enumerate(lines) if line.startswith("|") and re.match(r"\|\s*NPU\b", line)]
    if not heads:
        _raise_failure(text)
        raise UnknownLayout("`npu-smi info`: no table with a title `NPU` in it")
    versions = _VERSIONS.search(text)
    end = heads[1] if len(heads) > 1 else len(lines)
    chips = tuple(_chips(lines, heads[0], end))
    notes = [line.removeprefix("[WARNING]") for line in lines if line.startswith("[WARNING]")]
    processes: tuple[Process, ...] | None = None
    if len(heads) > 1:
        try:
            processes = tuple(_processes(lines, heads[1]))
        except UnknownLayout as unknown:
            notes.append(str(unknown))
    tool, driver = (versions[1], versions[2]) if versions else ("", "")
    return Info(tool, driver, chips, processes, tuple(notes))


def mapped(text: str) -> list[Mapped]:
    """`npu-smi info -m`: which NPU and chip is which device of the programs."""
    rows = [
        re.split(r"\s{2,}|\t", line.strip()) for line in text.splitlines() if re.match(r"\s*(NPU ID\b|\d+\s)", line)
    ]
    if not rows:
        _raise_failure(text)
        raise UnknownLayout("`npu-smi info -m`: no row that starts with a number")
    if rows[0][0] == "NPU ID":
        titles = rows.pop(0)
    elif all(len(row) == 4 for row in rows):
        titles = ["NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"]
    else:
        raise UnknownLayout("`npu-smi info -m`: the line with the titles is missing")
    if unknown := [title for title in titles if title not in _MAP_TITLES]:
        raise UnknownLayout(f"`npu-smi info -m`: unknown title `{unknown[0]}`")
    return [row for row in (_mapped_row(titles, cells) for cells in rows) if row is not None]


def listed(text: str) -> dict[int, int]:
    """`npu-smi info -l`: number of chips by NPU; a 950 does not print it and has one."""
    found: dict[int, int] = {}
    for name, value in pairs(text):
        if name == "NPU ID":
            found[whole(value, "NPU ID")] = 1
        elif name == "Chip Count" and found:
            found[list(found)[-1]] = whole(value, "Chip Count")
    if not found:
        _raise_failure(text)
        raise UnknownLayout("`npu-smi info -l`: no `NPU ID` in it")
    return found


def by_chip(text: str) -> dict[int, dict[str, str]]:
    """`-t usages`, `ecc`, `health`, `temp` …: names and values of each chip; `Chip ID` closes a chip's block."""
    _raise_failure(text)
    found: dict[int, dict[str, str]] = {}
    block: dict[str, str] = {}
    count = None
    for name, value in pairs(text):
        if name == "Chip ID":
            found[whole(value, "Chip ID")] = block
            block = {}
        elif name == "Chip Count":
            count = whole(value, "Chip Count")
        elif name != "NPU ID":
            block[name] = value
    if count is not None and len(found) != count:
        raise UnknownLayout(f"`npu-smi info -t`: {len(found)} of {count} chips reported: the answer is incomplete")
    if block and found:
        raise UnknownLayout(f"`npu-smi info -t`: values after the last `Chip ID`: `{next(iter(block))}`")
    if not (found or block):
        raise UnknownLayout("`npu-smi info -t`: no `name : value` line")
    return found or {0: block}


def board(text: str) -> dict[str, str]:
    """`-t board`: names and values, of a card or with `-c` of a chip."""
    _raise_failure(text)
    found = dict(pairs(text))
    if "NPU ID" not in found:
        raise UnknownLayout("`npu-smi info -t board`: no `NPU ID` in it")
    return found


def _raise_failure(text: str) -> None:
    match = _FAILED.search(text)
    if match:
        code = re.search(r"ret is (-\d+)", match[0])
        raise SmiFailed(match[0].strip(), int(code[1]) if code else None)


def _chips(lines: list[str], at: int, end: int) -> Iterator[Chip]:
    heads = []
    while at < end and lines[at].startswith("|"):
        heads.append([_grammar(cell) for cell in _cells(lines[at])])
        at += 1
    block: list[str] = []
    for line in lines[at:end]:
        if line.startswith("|"):
            block.append(line)
        elif line.startswith("+") and block:
            yield from _block(heads, block)
            block = []
    if block:
        yield from _block(heads, block)


def _block(heads: list[list[tuple[list[str], re.Pattern[str]]]], rows: list[str]) -> Iterator[Chip]:
    """The rows of one chip; a chip whose second row the driver could not read keeps what the first says."""
    values: dict[str, str] = {}
    for number, row in enumerate(rows):
        if number % len(heads) == 0 and values:
            yield _chip(values)
            values = {}
        values |= _row(heads[number % len(heads)], row)
    yield _chip(values)


def _grammar(cell: str) -> tuple[list[str], re.Pattern[str]]:
    """The fields that a cell of the title line announces, and the form of their values."""
    names, forms, rest = [], [], cell.strip()
    while rest:
        known = sorted(_TITLES, key=len, reverse=True)
        title = next((title for title in known if re.match(re.escape(title) + r"(\s|$)", rest)), None)
        if title is None:
            raise UnknownLayout(f"`npu-smi info`: unknown title `{rest}`")
        names.append(_TITLES[title][0])
        forms.append(_TITLES[title][1])
        rest = rest[len(title) :].strip()
    return names, re.compile(r"\s+".join(forms))


def _row(head: list[tuple[list[str], re.Pattern[str]]], row: str) -> dict[str, str]:
    cells = _cells(row)
    if len(cells) != len(head):
        raise UnknownLayout(f"`npu-smi info`: {len(cells)} columns where the title has {len(head)}: `{row}`")
    found: dict[str, str] = {}
    for (names, form), cell in zip(head, cells, strict=True):
        match = form.fullmatch(cell.strip())
        if match is None:
            raise UnknownLayout(f"`npu-smi info`: cannot read `{cell.strip()}` as {', '.join(names) or 'nothing'}")
        found |= dict(zip(names, match.groups(), strict=True))
    return found


def _chip(values: dict[str, str]) -> Chip:
    power, temp, busy = (_number(values.get(name)) for name in ("power", "temp", "busy"))
    return Chip(
        npu=int(values["npu"]),
        chip=int(values.get("chip", "0")),
        name=values.get("name", ""),
        health=values.get("health", ""),
        device=int(values["device"]) if values.get("device", "NA").isdecimal() else None,
        bus=values["bus"] if values.get("bus", "NA") not in ("NA", "-") else None,
        power=power,
        temp=None if temp is None else round(temp),
        busy=None if busy is None else round(busy),
        pages=_usage(values.get("pages")),
        ddr=_usage(values.get("ddr")),
        hbm=_usage(values.get("hbm")),
    )


def _processes(lines: list[str], at: int) -> Iterator[Process]:
    titles = [re.split(r"\s{2,}", cell.strip()) for cell in _cells(lines[at])]
    for title in (title for cell in titles for title in cell):
        if title not in _PROCESS_TITLES:
            raise UnknownLayout(f"`npu-smi info`: unknown title `{title}` in the list of processes")
    for line in lines[at + 1 :]:
        if not line.startswith("|") or line.startswith("| No running processes"):
            continue
        values: dict[str, str] = {}
        cells = _cells(line)
        if len(cells) != len(titles):
            raise UnknownLayout(f"`npu-smi info`: cannot read the process `{line}`")
        for names, cell in zip(titles, cells, strict=True):
            words = re.split(r"\s+", cell.strip()) if len(names) > 1 else [cell.strip()]
            if len(words) != len(names):
                raise UnknownLayout(f"`npu-smi info`: cannot read the process `{line}`")
            values |= {_PROCESS_TITLES[name]: word for name, word in zip(names, words, strict=True)}
        numbers = [values.get(name, "?") for name in ("npu", "pid", "memory")]
        if not all(number.isdecimal() for number in [*numbers, values.get("chip", "0")]):
            raise UnknownLayout(f"`npu-smi info`: cannot read the process `{line}`")
        npu, pid, memory = map(int, numbers)
        yield Process(npu, int(values.get("chip", "0")), pid, values.get("name", ""), memory)


def _mapped_row(titles: list[str], cells: list[str]) -> Mapped | None:
    if len(cells) != len(titles):
        raise UnknownLayout(f"`npu-smi info -m`: {len(cells)} values for {len(titles)} titles: `{'  '.join(cells)}`")
    values = {_MAP_TITLES[title]: cell for title, cell in zip(titles, cells, strict=True)}
    if "-" in (values.get("logic"), values.get("physical")):
        return None
    logic, physical = (whole(values[key], key) if key in values else None for key in ("logic", "physical"))
    return Mapped(whole(values["npu"], "NPU ID"), whole(values["chip"], "Chip ID"), logic, physical, values["name"])


def _cells(line: str) -> list[str]:
    if not line.endswith("|"):
        raise UnknownLayout(f"`npu-smi info`: a row is incomplete: `{line}`")
    return line.strip("|").split("|")


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d+(\.\d+)?", text) else None


def _usage(text: str | None) -> Usage | None:
    if text is None:
        return None
    used, total = (int(part) if part.strip().isdecimal() else None for part in text.split("/"))
    return Usage(used, total)
