"""When the values of a tape begin and end to be alive, forward and backward, with and without recompute."""

from __future__ import annotations

from dataclasses import dataclass

from jumar.parallel.tape import Tape


@dataclass(frozen=True)
class Order:
    """What does not depend on sizes: computed once for a tape and a kind of recompute."""

    again: tuple[int, ...]
    """Operators that the backward pass does again."""
    root: tuple[int, ...]
    """The value whose memory a value shares."""
    ends: tuple[tuple[int, ...], ...]
    """Values that are free after each operator of the forward pass."""
    remade: tuple[tuple[int, bool, tuple[int, ...]], ...]
    """Recomputed operators: number, does it make a value again, values that are free after it."""
    kept: frozenset[int]
    """Values alive when the backward pass begins, without what is remade."""
    frees: tuple[tuple[int, ...], ...]
    """Values that are free after the backward pass of each operator."""
    targets: tuple[tuple[int, ...], ...]
    """Values into which gradients flow from each operator."""
    out_needed: bool


def order(tape: Tape, recompute: str) -> Order:
    ops = tape.ops
    root = list(range(len(tape.values)))
    maker = {}
    for number, op in enumerate(ops):
        maker[op.output] = number
        if op.view:
            root[op.output] = root[op.inputs[0]]
    again = repeated(tape, recompute)
    out = root[tape.out]
    region = {"none": set(), "full": set(range(len(ops))), "selective": tape.selective}[recompute]
    kept = {root[v] for n, op in enumerate(ops) if n not in region for v in op.keeps}
    kept |= {root[v] for n in again for v in ops[n].inputs if maker.get(v, -1) not in again}
    kept |= {root[v] for n in region for v in ops[n].keeps if maker.get(v, -1) not in again}
    last: dict[int, int] = {}
    for number, op in enumerate(ops):
        for value in (*op.inputs, op.output):
            last[root[value]] = number
    ends: list[list[int]] = [[] for _ in ops]
    for value, number in last.items():
        if value not in kept and value not in (0, out):
            ends[number].append(value)
    remade, made = _remade(tape, again, root, kept | {0, out})
    first: dict[int, int] = {}
    for number, op in enumerate(ops):
        for value in op.keeps:
            first.setdefault(root[value], number)
    frees: list[list[int]] = [[] for _ in ops]
    for value in (kept | made | {out}) - {0}:
        if value in first:
            frees[first[value]].append(value)
        elif value != out:
            frees[0].append(value)
    made_by = {root[op.output] for op in ops}
    targets = tuple(
        tuple(root[v] for v in op.inputs if tape.values[v].size and (root[v] == 0 or root[v] in made_by)) for op in ops
    )
    return Order(
        tuple(sorted(again)), tuple(root), tuple(map(tuple, ends)), tuple(remade), frozenset(kept - {0, out}),
        tuple(map(tuple, frees)), targets, out in first,
    )  # fmt: skip


def repeated(tape: Tape, recompute: str) -> set[int]:
    """Operators that the backward pass does again: those of the wish whose result some gradient needs."""
    if recompute == "none":
        return set()
    wanted = set(range(len(tape.ops))) if recompute == "full" else tape.selective
    needed = {value for op in tape.ops for value in op.keeps}
    found: set[int] = set()
    for number in range(len(tape.ops) - 1, -1, -1):
        if number in wanted and tape.ops[number].output in needed:
            found.add(number)
            needed.update(tape.ops[number].inputs)
    return found


def _remade(
    tape: Tape, again: set[int], root: list[int], have: set[int]
) -> tuple[list[tuple[int, bool, tuple[int, ...]]], set[int]]:
    needed = {root[v] for op in tape.ops for v in op.keeps}
    last = {root[v]: n for n in sorted(again) for v in (*tape.ops[n].inputs, tape.ops[n].output)}
    made: set[int] = set()
    rows = []
    for number in sorted(again):
        op = tape.ops[number]
        value = root[op.output]
        makes = not op.view and value not in have
        if makes:
            made.add(value)
        done = tuple(v for v in made if last.get(v) == number and v not in needed)
        made -= set(done)
        rows.append((number, makes, done))
    return rows, made
