"""Cards and their processes: a table for the terminal, JSON, and Prometheus text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jumar.core.lang import t
from jumar.core.printable import one_line
from jumar.machine.smi.result import Card, View

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

_BARS = " ▁▂▃▄▅▆▇█"
_UNKNOWN = "-"
WIDE = 90
"""Characters from which on the table has lines and full words; what is more is for the use so far."""
LEAST = 10
"""Characters that the use so far needs."""


def table(view: View, history: Mapping[int, Sequence[float]] | None = None, width: int = 160) -> Group:
    """The cards, then the processes; `history` holds earlier uses of each card in percent.

    A narrow terminal keeps every column: without lines between them, and with shorter words.
    """
    from rich.console import Group
    from rich.text import Text

    narrow = width < WIDE
    room = width - WIDE
    past = {} if room < LEAST else {card: values[-room:] for card, values in _lists(history).items()}
    cards = _cards(view, past, narrow)
    return Group(cards, _processes(view, narrow), *(Text(one_line(t(f"note: {note}"))) for note in view.notes))


def _lists(history: Mapping[int, Sequence[float]] | None) -> dict[int, list[float]]:
    return {card: list(values) for card, values in (history or {}).items()}


def _cards(view: View, history: Mapping[int, Sequence[float]], narrow: bool) -> Any:
    from rich.text import Text

    last = ("MiB", "W", "C") if narrow else ("memory (MiB)", "power", "temp")
    heads = ("card", "NPU" if narrow else "NPU.chip", "name", "health", "use", *last)
    cards = _table(Text(one_line(f"npu-smi {view.tool}")), narrow)
    for at, head in enumerate(heads):
        cards.add_column(t(head), no_wrap=True, justify="right" if at in (4, 6, 7) else "left")
    if history:
        cards.add_column(t("use so far"), no_wrap=True)
    between, watt, degree = ("/", "", "") if narrow else (" / ", " W", " C")
    for card in view.cards:
        health = Text(one_line(card.health), style="" if card.health == "OK" else "bold red")
        past = [sparkline(history.get(card.number, ()))] if history else []
        cards.add_row(
            str(card.number), f"{card.npu}.{card.chip}", Text(one_line(card.name)), health, _shown(card.busy, "%"),
            f"{_shown(card.used_mib)}{between}{_shown(card.total_mib)}", _shown(card.power, watt),
            _shown(card.temp, degree), *past,
        )  # fmt: skip
    return cards


def _table(title: str | Text, narrow: bool) -> Any:
    from rich import box
    from rich.table import Table

    if narrow:
        return Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    return Table(title=title, title_justify="left", box=box.HEAVY_HEAD)


def sparkline(values: Sequence[float]) -> str:
    """Percent as little bars, oldest first."""
    return "".join(_BARS[max(0, min(len(_BARS) - 1, round(value / 100 * (len(_BARS) - 1))))] for value in values)


def as_json(view: View) -> dict[str, Any]:
    cards = []
    for card in view.cards:
        fields = card._asdict()
        fields["processes"] = None if card.processes is None else [item._asdict() for item in card.processes]
        cards.append(fields)
    return {"tool": view.tool, "cards": cards, "notes": list(view.notes)}


def metrics(view: View) -> str:
    """Prometheus text; what a board does not report has no sample."""
    return "".join(f"{line}\n" for line in _metrics(view))


def _metrics(view: View) -> Iterator[str]:
    gauges: dict[str, tuple[str, Callable[[Card], float | None]]] = {
        "npu_up": ("1 if the card's health is OK", lambda card: int(card.health == "OK")),
        "npu_utilization_percent": ("use of the AI cores", lambda card: card.busy),
        "npu_memory_used_bytes": ("device memory in use", lambda card: _bytes(card.used_mib)),
        "npu_memory_total_bytes": ("device memory", lambda card: _bytes(card.total_mib)),
        "npu_power_watts": ("power of the NPU", lambda card: card.power),
        "npu_temperature_celsius": ("temperature of the chip", lambda card: card.temp),
        "npu_processes": (
            "processes on the card",
            lambda card: None if card.processes is None else len(card.processes),
        ),
    }
    for name, (text, value) in gauges.items():
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} gauge"
        for card in view.cards:
            number = value(card)
            if number is not None:
                yield f"{name}{_labels(card)} {number}"
    yield "# HELP npu_process_memory_bytes device memory of a process"
    yield "# TYPE npu_process_memory_bytes gauge"
    for card in view.cards:
        for item in card.processes or ():
            yield f"npu_process_memory_bytes{_labels(card, pid=item.pid, user=item.user)} {item.memory_mib << 20}"


def _labels(card: Card, **more: object) -> str:
    values = {"card": card.number, "npu": card.npu, "chip": card.chip, "name": card.name, **more}
    return "{" + ",".join(f'{name}="{_escaped(str(value))}"' for name, value in values.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _bytes(mib: int | None) -> int | None:
    return None if mib is None else mib << 20


def _shown(value: float | None, unit: str = "") -> str:
    return _UNKNOWN if value is None else f"{value:g}{unit}"


def _processes(view: View, narrow: bool) -> Any:
    from rich.text import Text

    rows = [(card, item) for card in view.cards for item in card.processes or ()]
    if all(card.processes is None for card in view.cards):
        return Text(t("this npu-smi lists no processes"))
    if not rows:
        return Text(t("no processes"))
    found = _table(t("processes"), narrow)
    for head in ("card", "pid", "user", "MiB" if narrow else "memory (MiB)", "script", "command"):
        folds = head == "command" or (narrow and head in ("user", "script"))
        least = len(head) if folds else None
        found.add_column(t(head), no_wrap=not folds, overflow="fold", min_width=least)
    for card, item in rows:
        command = item.command or item.name or t("(in another container)")
        found.add_row(str(card.number), str(item.pid), Text(one_line(item.user or _UNKNOWN)), str(item.memory_mib),
                      Text(one_line(item.script or _UNKNOWN)), Text(one_line(command[:200])))  # fmt: skip
    return found
