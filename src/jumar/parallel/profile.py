"""What one layer costs in memory: a walk over its operators, forward and backward, that notes how much is alive.

The rules are those seen in MindSpore 2.10's memory tracker (dry runs, 2026-11-16): docs/concepts/parallel-memory.md.
The walk is made once for a kind of plan: what grows with the batch and what the data-parallel cards share is kept
apart, so that one walk serves every batch and every number of data-parallel cards.
"""

from __future__ import annotations

from jumar.core.compat import zip
from jumar.parallel.liveness import Order, order
from jumar.parallel.setting import NOTHING, Setting, Shape, Size, cards_of, holders, is_sharded
from jumar.parallel.tape import AUTOCAST, JOINED, SEQUENCE, TENSOR, WHOLE, Tape, Value


def shape(tape: Tape, at: Setting) -> Shape:
    """Walk the operators forward and backward once; batch and data-parallel cards of the setting do not matter."""
    absent = (*(() if at.kind.autocast else (AUTOCAST,)), *(() if at.sequence and at.tp > 1 else (JOINED,)))
    tape = tape.without(*absent)
    return _Walk(tape, at.kind, order(tape, at.recompute)).run()


class _Walk:
    def __init__(self, tape: Tape, at: Setting, known: Order) -> None:
        self.tape, self.at, self.order = tape, at, known
        self.divisors = {WHOLE: 1, TENSOR: at.tp, SEQUENCE: at.tp if at.sequence else 1}
        self.sizes = [self._size(value) for value in tape.values]
        self.local = [weight.elements // cards_of(weight, at) for weight in tape.weights]
        self.sharded = [is_sharded(weight, at) for weight in tape.weights]
        self.copy = [self._copy(index) for index in range(len(tape.weights))]
        self.gathered = self.together = self.unread = NOTHING
        if at.pipeline or at.root:
            sizes = zip(tape.weights, self.sharded, self.copy, strict=True)
            self.unread = sum((size for weight, sharded, size in sizes if sharded and not weight.kept), NOTHING)
            self.gathered = self._take_gathered()
        elif at.eager:
            self.together = self._take_gathered()
        self.unreduced = self.flat = self.owned = NOTHING
        self.live = NOTHING
        self.moments: list[Size] = []
        self.rising = False

    def _size(self, value: Value) -> Size:
        size = value.size * self.at.width(value) // self.divisors[value.split]
        return Size(fixed=size) if value.once else Size(size)

    def run(self) -> Shape:
        self._grow(self.together)
        copies = self._forward()
        again = self.at.level == 3
        if again:
            self._shrink(self.together)
        forward, saved = self._highest(), self.live
        held = sum(copies.values(), NOTHING if again else self.together)
        # FSDP2 gathers the next layer of the backward pass while it works on this one.
        self._grow(self.together + self.together if again else NOTHING)
        gradients = self._backward(copies)
        self._shrink(self.together + self.together if again else self.together)
        weights = state = NOTHING
        for index, elements in enumerate(self.local):
            weights += self._owned(elements * self.at.kept, index)
            state += self._owned(elements, index)
        local = Size(fixed=sum(self.local))
        experts = Size(fixed=sum(n for n, w in zip(self.local, self.tape.weights, strict=True) if w.expert))
        return Shape(
            forward, saved, held, self._highest(), gradients, weights, state, local, experts, self.gathered,
            self.unread,
        )  # fmt: skip

    def _take_gathered(self) -> Size:
        """All gathered weights of the layer as one; operators then find them there."""
        total = NOTHING
        for index, sharded in enumerate(self.sharded):
            if sharded:
                total += self.copy[index]
                self.copy[index] = NOTHING
        return total

    def _owned(self, size: int, index: int) -> Size:
        """What a card keeps of so many bytes of a weight, or of its gradient or state."""
        if not self.sharded[index]:
            return Size(fixed=size)
        return Size(spread=size) if self.tape.weights[index].expert else Size(shared=size)

    def _grow(self, size: Size) -> None:
        self.live += size
        self.rising = True

    def _shrink(self, size: Size) -> None:
        if self.rising:
            self.moments.append(self.live)
            self.rising = False
        self.live -= size

    def _highest(self) -> tuple[Size, ...]:
        """The moments that can be the highest for some batch; the next pass begins with none."""
        found: list[Size] = []
        for moment in sorted({*self.moments, self.live}, key=_falling):
            if not any(other.covers(moment) for other in found):
                found.append(moment)
        self.moments, self.rising = [], True
        return tuple(found)

    def _copy(self, index: int) -> Size:
        """The copy that an operator reads instead of the weight; nothing if it reads the weight."""
        weight, at = self.tape.weights[index], self.at
        cast = (weight.cast or (at.eager and at.shard)) and at.computed != at.kept
        if self.sharded[index]:
            return Size(fixed=self.local[index] * (at.computed if cast else at.kept))
        if cast:
            return Size(fixed=self.local[index] * at.computed)
        return Size(fixed=self.local[index] * at.kept) if at.moved and weight.kept else NOTHING

    def _is_regathered(self, index: int) -> bool:
        return self.sharded[index] and self.at.level == 3

    def _forward(self) -> dict[int, Size]:
        """Returns the copies of weights that outlive the forward pass; a gathered one is not gathered again."""
        again = set(self.order.again)
        copies: dict[int, Size] = {}
        split = self.at.tp > 1
        for number, op in enumerate(self.tape.ops):
            passing = NOTHING
            for index in op.weights:
                size = self.copy[index]
                stays = self.tape.weights[index].kept and (number not in again or self.sharded[index])
                if size and stays and not self._is_regathered(index):
                    copies[index] = size
                else:
                    passing += size
                self._grow(size)
            if not op.view:
                size = self.sizes[op.output]
                self._grow(size)
                aside = size if split and op.output in self.tape.reduced else NOTHING
                # Seen with dp alone: the compiler makes the gradient after the loss if nothing is divided.
                aside += Size(op.ahead // self.divisors[op.split]) if split or self.at.pipeline else NOTHING
                self._grow(aside)
                self._shrink(aside)
            self._shrink(sum((self.sizes[value] for value in self.order.ends[number]), passing))
        return copies

    def _remake(self, copies: dict[int, Size]) -> None:
        """Do the recomputed operators again: what they keep is alive from here on."""
        for number, makes, done in self.order.remade:
            op = self.tape.ops[number]
            for index in op.weights:
                if index not in copies and self.copy[index]:
                    self._grow(self.copy[index])
                    if self.tape.weights[index].kept:
                        copies[index] = self.copy[index]
                    else:
                        self._shrink(self.copy[index])
            if makes:
                self._grow(self.sizes[op.output])
            self._shrink(sum((self.sizes[value] for value in done), NOTHING))

    def _backward(self, copies: dict[int, Size]) -> Size:
        tape, known = self.tape, self.order
        left = dict(copies)
        if known.again:
            self._remake(left)
        out = known.root[tape.out]
        grads: dict[int, Size] = {out: self.sizes[tape.out]}
        self._grow(self.sizes[tape.out])
        if not known.out_needed:
            self._shrink(self.sizes[out])
        gradients = NOTHING
        for number in range(len(tape.ops) - 1, -1, -1):
            op = tape.ops[number]
            if op.view:
                continue
            incoming = grads.pop(known.root[op.output], NOTHING)
            for index in op.weights:
                if self._is_regathered(index) and tape.weights[index].kept and index not in left:
                    left[index] = self.copy[index]
                    self._grow(self.copy[index])
                gradients += self._weight_gradient(index)
            for target in known.targets[number]:
                size = self.sizes[target]
                self._grow(size)
                if target in grads:
                    self._grow(size)
                    self._shrink(size + grads[target])
                grads[target] = size
            extra = Size(op.extra // self.divisors[op.split])
            self._grow(extra)
            freed = extra + incoming
            for index in op.weights:
                freed += left.pop(index, NOTHING)
            self._shrink(sum((self.sizes[value] for value in known.frees[number]), freed))
        self._scatter()
        return gradients

    def _weight_gradient(self, index: int) -> Size:
        """Make the gradient of a weight; returns the bytes that stay."""
        at, local, weight = self.at, self.local[index], self.tape.weights[index]
        whole, passing = Size(fixed=local * at.gradient), NOTHING
        if (weight.cast or (at.eager and self.sharded[index])) and at.computed != at.gradient:
            passing = Size(fixed=local * at.computed)
        self._grow(passing + whole)
        if at.eager and holders(weight, at) > 1:
            return self._reduced_at_once(whole, passing, index)
        self._shrink(passing)
        if at.pipeline:
            self._shrink(whole)
            return NOTHING
        kept = whole
        if holders(weight, at) > 1:
            result = self._owned(local * at.gradient, index)
            self._grow(result)
            kept += result
        return kept

    def _reduced_at_once(self, whole: Size, passing: Size, index: int) -> Size:
        """DDP puts it into a bucket that is always there; FSDP2 holds a layer's gradients until it scatters them."""
        if not self.sharded[index]:
            self._shrink(passing + whole)
            return NOTHING
        self._shrink(whole if passing else NOTHING)
        owned = self._owned(whole.fixed, index)
        if self.at.root:
            return (passing or whole) + owned
        self.unreduced += passing or whole
        self.flat += whole
        self.owned += owned
        return owned

    def _scatter(self) -> None:
        """The end of a layer's backward pass with FSDP2: its gradients are copied into one buffer and scattered."""
        if self.flat:
            self._grow(self.flat + self.owned)
            self._shrink(self.unreduced + self.flat)


def _falling(size: Size) -> tuple[int, ...]:
    return -size.sample, -size.fixed, -size.shared, -size.spread
