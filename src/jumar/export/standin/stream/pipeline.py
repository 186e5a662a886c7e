"""A stream from its JSON: elements in the order of their links, each a module in `elements`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from jumar.core.discover import modules
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.core.read import decoded
from jumar.export.standin.stream.frame import Frame

MOST_STREAMS = 256


@dataclass
class Element:
    name: str
    factory: str
    props: dict[str, str]
    next: tuple[str, ...]
    before: list[str] = field(default_factory=list)
    after: list[Element] = field(default_factory=list)
    state: Any = None
    """What the element made ready once, such as a loaded model."""

    def prop(self, name: str, default: str = "") -> str:
        return str(self.props.get(name, default))

    def number(self, name: str, default: float = 0) -> float:
        text = self.prop(name)
        try:
            return float(text) if text else default
        except ValueError as error:
            raise UserError(f"`{name}` of `{self.name}` is not a number: `{text}`") from error

    def sources(self) -> list[str]:
        """The elements whose data this one reads: those named, else the ones before it."""
        given = self.prop("dataSource") or self.prop("parentName")
        if not given or given == "auto":
            return self.before
        return [name.strip() for name in given.split(",")]


@dataclass
class Stream:
    name: str
    elements: list[Element]
    """In the order they run."""

    def of(self, factory: str) -> list[Element]:
        return sorted((one for one in self.elements if one.factory == factory), key=lambda one: one.name)

    def run(self, frame: Frame) -> None:
        for element in self.elements:
            factories()[element.factory].run(element, frame)


def factories() -> dict[str, ModuleType]:
    """Elements by the name of their factory."""
    found = {}
    for module in modules("jumar.export.standin.stream.elements"):
        for name in module.FACTORIES:
            found[name] = module
    return found


def parse(text: str) -> list[Stream]:
    """The streams of a pipeline text, with everything loaded that they need."""
    try:
        document = decoded(text)
    except ValueError as error:
        raise UserError(f"the pipeline is not JSON: {error}") from error
    if not isinstance(document, dict) or not document or len(document) > MOST_STREAMS:
        raise UserError("the pipeline is not an object of streams")
    return [_stream(name, rows) for name, rows in document.items()]


def _stream(name: str, rows: Any) -> Stream:
    if not isinstance(rows, dict):
        raise UserError(f"stream `{name}` is not an object of elements")
    elements = {key: _element(key, row) for key, row in rows.items() if key != "stream_config"}
    known = factories()
    for element in elements.values():
        if element.factory not in known:
            hint = did_you_mean(element.factory, known, f"it has {', '.join(sorted(known))}")
            raise UserError(f"the stand-in has no element `{element.factory}` (`{element.name}`)", hint)
        for target in element.next:
            if target not in elements:
                raise UserError(f"`{element.name}` leads to `{target}`, which does not exist",
                                did_you_mean(target, elements, "check `next`"))  # fmt: skip
            elements[target].before.append(element.name)
            element.after.append(elements[target])
    stream = Stream(name, _ordered(elements, name))
    for element in stream.elements:
        prepare: Callable[[Element], None] | None = getattr(known[element.factory], "prepare", None)
        if prepare is not None:
            prepare(element)
    return stream


def _element(name: str, row: Any) -> Element:
    if not isinstance(row, dict) or not isinstance(row.get("factory"), str):
        raise UserError(f"element `{name}` has no factory")
    following = row.get("next", [])
    targets = tuple(following) if isinstance(following, list) else (following,)
    # A link may name the port of the next element: `mxpi_imagecrop0:1`.
    given = row.get("props") or {}
    if not isinstance(given, dict) or not all(isinstance(target, str) for target in targets):
        raise UserError(f"`props` or `next` of element `{name}` is not an object or name")
    props = {key: str(value) for key, value in given.items()}
    return Element(name, row["factory"], props, tuple(target.partition(":")[0] for target in targets))


def _ordered(elements: dict[str, Element], name: str) -> list[Element]:
    waiting = {key: len(element.before) for key, element in elements.items()}
    ready = [key for key, count in waiting.items() if count == 0]
    order = []
    while ready:
        key = ready.pop(0)
        order.append(elements[key])
        for target in elements[key].next:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if len(order) != len(elements):
        raise UserError(f"the elements of `{name}` form a cycle")
    return order
