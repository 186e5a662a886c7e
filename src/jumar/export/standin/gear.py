"""Which shapes the next run has: a gear of the model, or shapes that the caller names."""

from __future__ import annotations

from collections.abc import Sequence

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.export import shapes
from jumar.export.shapes import Range
from jumar.export.standin.program import Program

Shape = tuple[int, ...]


def first(program: Program) -> list[Shape]:
    """The shapes of a model that has not been told any: those of its largest gear, -1 where it takes ranges."""
    return [port.shape for port in program.inputs] if program.mode == "range" else program.at(program.largest())


def number(program: Program, mode: str, *gears: Sequence[int]) -> list[Shape]:
    """The gear of these numbers; several spellings may be given."""
    _expect(program, mode)
    for gear in gears:
        if tuple(gear) in program.gears:
            return program.at(gear)
    raise RuntimeError(f"{list(gears[0])} is not a gear of the model: {[list(gear) for gear in program.gears]}")


def named(program: Program, mode: str, text: str) -> list[Shape]:
    """Shapes as `name:1,3,224,224;other:1,600`."""
    _expect(program, mode)
    try:
        given = shapes.fixed((text,))
    except UserError as error:
        raise RuntimeError(error.message) from error
    found: list[Shape] = []
    for port in program.inputs:
        shape = given.pop(port.name, None)
        if shape is None:
            raise RuntimeError(f"`{text}` does not name the input `{port.name}`")
        if not _fits(program, port.name, shape):
            raise RuntimeError(f"`{text}`: the input `{port.name}` does not take this shape")
        found.append(shape)
    if given:
        raise RuntimeError(f"no input `{next(iter(given))}`: {', '.join(port.name for port in program.inputs)}")
    if program.gears and not any(found == program.at(gear) for gear in program.gears):
        raise RuntimeError(f"`{text}` is not a gear of the model: {[list(gear) for gear in program.gears]}")
    return found


def _fits(program: Program, name: str, shape: Shape) -> bool:
    wanted = program.shapes[name]
    return len(wanted) == len(shape) and all(
        dim.low <= given <= dim.high if isinstance(dim, Range) else dim in (-1, given)
        for given, dim in zip(shape, wanted, strict=True)
    )


def _expect(program: Program, mode: str) -> None:
    if program.mode != mode:
        raise RuntimeError(f"the model was converted for mode {program.mode}, not {mode}")
