"""Rewrites a model so that ATC can parse it, with ONNX's own tools, and shows that it still computes the same."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core import write
from jumar.core.errors import UserError
from jumar.export import model as models
from jumar.export.graph import OWN, inputs
from jumar.export.model import first_line, onnx
from jumar.tables import atc

IR = 8
"""The IR version of ONNX 1.10 to 1.13, whose operators ATC parses."""


class Fixed(NamedTuple):
    model: Any
    done: tuple[str, ...]
    """What was changed, a line each."""


def fix(path: Path) -> Fixed:
    """The model of a file with functions and defined operators written out, at an opset that ATC parses, with names."""
    proto = models.whole(path)
    done: list[str] = []
    if proto.functions:
        proto = _called("inliner", proto, lambda: onnx().inliner.inline_local_functions(proto, True))
        done.append("inlined the model's own functions")
    defined = _defined(proto)
    if defined:
        pairs = [("", name) for name in defined]
        inline = onnx().inliner.inline_selected_functions
        proto = _called("inliner", proto, lambda: inline(proto, pairs, inline_schema_functions=True))
        done += [f"expanded `{name}` into the operators that define it" for name in defined]
    opset, target = models.opset(proto), _target(proto)
    if target != opset:
        proto = _called("version converter", proto, lambda: onnx().version_converter.convert_version(proto, target))
        done.append(f"opset {opset} became {target}")
    done += _name(proto)
    if proto.ir_version > IR and models.opset(proto) <= atc.newest_opset():
        done.append(f"IR version {proto.ir_version} became {IR}")
        proto.ir_version = IR
    return Fixed(proto, tuple(done))


def save(fixed: Fixed, path: Path) -> None:
    """Write the model as one file."""
    try:
        data = fixed.model.SerializeToString()
    except Exception as error:
        raise UserError(
            "the result has more than 2 GiB and does not fit one file", "keep its weights external"
        ) from error
    write.replace(path, data)


def _defined(proto: Any) -> list[str]:
    """Operators without a parser that ONNX itself defines by others."""
    used = {node.op_type for graph in models.graphs(proto.graph) for node in graph.node if node.domain in OWN}
    found = []
    for name in sorted(used - set(atc.parsed()) - set(atc.options()["bypass"])):
        try:
            schema = onnx().defs.get_schema(name, models.opset(proto), "")
        except Exception:
            continue  # not an operator of this opset: the check says so
        if schema.has_function or schema.has_context_dependent_function:
            found.append(name)
    return found


def _target(proto: Any) -> int:
    """The opset nearest to the model's own at which most of its operators are parsed."""
    used = {node.op_type for graph in models.graphs(proto.graph) for node in graph.node if node.domain in OWN}
    known = used & set(atc.parsed())
    opset = models.opset(proto)
    best: tuple[int, int] | None = None
    for candidate in range(atc.oldest_opset(), atc.newest_opset() + 1):
        refused = sum(not atc.is_parsed(operator, candidate) for operator in known)
        rank = (refused, abs(candidate - opset))
        if best is None or rank < (best[0], abs(best[1] - opset)):
            best = (refused, candidate)
    return opset if best is None else best[1]


def _called(what: str, proto: Any, call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        reason = re.sub(r"^.*?\.h:\d+:\s*\w+:\s*", "", first_line(error))
        newest = atc.newest_opset()
        raise UserError(
            f"ONNX's {what} cannot rewrite this model: {reason}",
            f"export it again with `opset_version={newest}`; nothing was written",
        ) from error


def _name(proto: Any) -> list[str]:
    """Give every node a name of its own, and inputs names that ATC's options can carry."""
    taken = Counter(node.name for node in proto.graph.node)
    count = 0
    for number, node in enumerate(proto.graph.node):
        if not node.name or taken[node.name] > 1:
            taken[node.name] -= 1
            node.name = f"{node.op_type}_{number}" if not taken[f"{node.op_type}_{number}"] else f"node_{number}_jumar"
            taken[node.name] += 1
            count += 1
    renamed = {}
    for name, _ in inputs(proto):
        plain = re.sub(r"[\s:;,\"'`$~]+", "_", name)
        if plain != name:
            renamed[name] = plain
    if renamed:
        _rename(proto.graph, renamed)
    done = [f"gave names to {count} node{'' if count == 1 else 's'}"] if count else []
    return done + [f"input `{old}` is now `{new}`" for old, new in renamed.items()]


def _rename(graph: Any, names: dict[str, str]) -> None:
    for inner in models.graphs(graph):
        for node in inner.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        for value in (*inner.input, *inner.output, *inner.value_info):
            value.name = names.get(value.name, value.name)
