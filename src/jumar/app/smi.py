"""`jumar smi`: the cards of this machine now, and which of them nobody uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jumar.core.compat import dataclass

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

    from jumar.machine.smi.result import View


@dataclass(frozen=True, slots=True)
class FreeCards:
    """The numbers of the cards that nobody uses, and why the others are not free."""

    free: tuple[int, ...]
    reasons: Mapping[int, str]
    wanted: int

    @property
    def enough(self) -> bool:
        return len(self.free) >= self.wanted

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json

        taken = {str(card): reason for card, reason in self.reasons.items()}
        return json.document({"free": list(self.free), "enough": self.enough, "not_free": taken})


def view() -> View:
    """What npu-smi says now, the real one or the emulated one on the path."""
    from jumar.machine.smi import read

    return read.view()


def free(wanted: int = 1) -> FreeCards:
    """Look for cards that nobody uses."""
    from jumar.machine.smi.free import why_not

    reasons = {card.number: why_not(card) for card in view().cards}
    found = tuple(card for card, reason in reasons.items() if not reason)
    return FreeCards(found, {card: reason for card, reason in reasons.items() if reason}, wanted)


def server(port: int) -> ThreadingHTTPServer:
    """A server of Prometheus text on this machine; 0 takes a free port."""
    from jumar.machine.smi import serve
    from jumar.report import smi

    return serve.server(port, lambda: smi.metrics(view()))
