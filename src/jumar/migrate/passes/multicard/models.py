"""Which objects of a script are trained, and where each of them is complete and on its device."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import NamedTuple

from jumar.migrate.flow import MOVES, SAME_OBJECT, Var, own_nodes
from jumar.migrate.passes.multicard.training import Training

PARAMETERS = frozenset({"parameters", "named_parameters"})
READERS = PARAMETERS | {"train", "eval", "state_dict", "zero_grad", "modules", "children"}
"""Methods that leave the model as it is."""


class Model(NamedTuple):
    """A trained model: its variable, its spelling, and the statement behind which it is wrapped."""

    home: Var
    spelling: str
    behind: ast.stmt
    aliases: frozenset[Var]


def trained(script: Training) -> list[Model]:
    """The models whose parameters an optimizer gets; without one, those whose parameters are asked for at all."""
    made = optimizers(script)
    roots = [*_roots(script, made), *_through_methods(script, made)]
    if not roots:
        roots = _roots(script, [script.file.tree])
    homes: dict[Var, None] = {}
    for root in roots:
        for one in script.flow.homes(root):
            homes.setdefault(one)
    found = []
    for first in homes:
        home = _moved(script, first)
        behind = _complete(script, home) if home is not None else None
        if home is None or behind is None:
            return []
        names = script.flow.aliases(home)
        if script.sharded:  # the object itself changes, whatever it was called before
            names |= {alias for one in _earlier(script, home, {home}) for alias in script.flow.aliases(one)}
        found.append(Model(home, home.name, behind, frozenset(names)))
    return found


def _earlier(script: Training, var: Var, seen: set[Var]) -> set[Var]:
    """The variables that held the object before: `model` of the caller, for a trainer's `self.model`."""
    values = [bound.value for bound in script.flow.bounds.get(var, ())]
    if script.flow.parameter(var) is not None:
        values += script.flow.arguments(var)
    for value in values:
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in SAME_OBJECT:
            value = value.func.value
        before = script.flow.var(value) if value is not None else None
        if before is not None and before not in seen:
            seen.add(before)
            _earlier(script, before, seen)
    return seen


@lru_cache(maxsize=16)
def optimizers(script: Training) -> list[ast.Call]:
    """The calls that make an optimizer."""
    found = []
    for call in script.flow.calls:
        name = script.file.name(call.func) or ""
        last = name.rpartition(".")[2] or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
        is_class = name.startswith("torch.optim.") and ".lr_scheduler" not in name and last[:1].isupper()
        is_other = not name.startswith("torch.optim.") and last.endswith(("Adam", "AdamW", "SGD", "Optimizer"))
        if (is_class or is_other) and script.is_reached(call):
            found.append(call)
    return found


def optimizer_line(script: Training, owner: ast.AST) -> int:
    """The first line of a function (or of the module) that makes an optimizer: sharding must come before it."""
    made = optimizers(script)
    makers = {script.flow.owner(call) for call in made}
    found = [call.lineno for call in made if script.flow.owner(call) is owner]
    for node in own_nodes(owner):
        if isinstance(node, ast.Call) and any(target in makers for target in script.flow.callees(node)):
            found.append(node.lineno)
    return min(found, default=1 << 30)


def root_of(script: Training, node: ast.AST) -> Var | None:
    """The variable at the start of `model.backbone.fc`; None for an `nn.Module` that speaks of itself."""
    while isinstance(node, ast.Attribute):
        var = script.flow.var(node)
        if var is not None and not _is_module_part(script, var):
            return var
        node = node.value
    if isinstance(node, ast.Name) and script.flow.method_of_self(node) is None:
        return script.flow.var(node)
    return None


def _roots(script: Training, under: list[ast.Call] | list[ast.Module]) -> list[Var]:
    found: dict[Var, None] = {}
    for top in under:
        nodes = list(ast.walk(top))
        if isinstance(top, ast.Call):
            # `params = [p for p in model.parameters() if …]; SGD(params)`
            for node in list(nodes):
                if isinstance(node, ast.Name) and (var := script.flow.var(node)) is not None:
                    for bound in script.flow.bounds.get(var, ()):
                        nodes += ast.walk(bound.value) if bound.value is not None else ()
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARAMETERS:
                var = root_of(script, node.func.value)
                if var is not None and not _is_module_part(script, var):
                    found.setdefault(var)
    return list(found)


def _through_methods(script: Training, made: list[ast.Call]) -> list[Var]:
    """Models that make their optimizer themselves: `optimizer = model.configure_optimizers(config)`."""
    found: dict[Var, None] = {}
    for call in made:
        method = script.flow.owner(call)
        asks = any(isinstance(one, ast.Attribute) and one.attr in PARAMETERS for one in ast.walk(method))
        if asks and isinstance(script.file.parent(method), ast.ClassDef):
            for site in script.flow.callers(method):
                var = root_of(script, site.func.value) if isinstance(site.func, ast.Attribute) else None
                if var is not None:
                    found.setdefault(var)
    return list(found)


def _is_module_part(script: Training, var: Var) -> bool:
    """Is this `self.layer` of a network rather than `self.model` of a trainer?"""
    return isinstance(var.owner, ast.ClassDef) and any(
        (name := script.file.name(base)) is not None and name.startswith("torch.nn.") for base in var.owner.bases
    )


def _moved(script: Training, home: Var) -> Var | None:
    """The variable that holds the model on its device: a later one when the model is moved on the way there."""
    if any(_is_move(script, use, {home}) for use in script.flow.uses.get(home, ())) or _made_there(script, home):
        return home
    aliases = script.flow.aliases(home)
    made = [var for var in aliases if var in script.flow.bounds and _is_moved_into(script, var, aliases)]
    if len(made) == 1:
        return made[0]
    later = [var for var in aliases if any(_is_move(script, use, aliases) for use in script.flow.uses.get(var, ()))]
    targets: set[Var] = set()
    for var in later:
        targets |= {one for one in script.flow.aliases(var) if one in script.flow.bounds and one != home} or {var}
    return home if not targets else targets.pop() if len(targets) == 1 else None


def _is_moved_into(script: Training, var: Var, aliases: set[Var]) -> bool:
    """Is there `var = model.to(device)`?"""
    values = [bound.value for bound in script.flow.bounds[var]]
    return any(
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in MOVES
        and script.flow.var(value.func.value) in aliases
        for value in values
    )


def on_card(script: Training, home: Var) -> bool:
    """Is there a place in the script that moves the model?"""
    aliases = script.flow.aliases(home)
    moved = any(_is_move(script, use, aliases) for var in aliases for use in script.flow.uses.get(var, ()))
    return moved or _made_there(script, home)


def _is_move(script: Training, use: ast.expr, aliases: set[Var]) -> bool:
    up = script.file.parent(use)
    return isinstance(up, ast.Attribute) and up.attr in MOVES and script.flow.var(use) in aliases


def _made_there(script: Training, home: Var) -> bool:
    """Is the model moved in the expression that makes it, or in the function that does?"""
    for bound in script.flow.bounds[home]:
        values = [bound.value, *script.flow.origins(bound.value)]
        for value in values:
            if value is not None and any(isinstance(n, ast.Attribute) and n.attr in MOVES for n in ast.walk(value)):
                return True
    return False


def _complete(script: Training, home: Var) -> ast.stmt | None:
    """The last statement that builds, moves or changes the model before training starts."""
    bounds = sorted(script.flow.bounds[home], key=lambda bound: bound.statement.lineno)
    owner = script.flow.owner(bounds[0].statement)
    limit = script.training_line(owner)
    if script.sharded:
        limit = min(limit, optimizer_line(script, owner))
    early = [b.statement for b in bounds if b.statement.lineno < limit and script.flow.owner(b.statement) is owner]
    if not early or any(isinstance(one, ast.For) for one in early):
        return None
    block = _common_block(script, early)
    last = None
    for child in block:
        if (child.end_lineno or child.lineno) >= limit:
            break
        if not isinstance(child, (ast.FunctionDef, ast.ClassDef)) and _touches(script, child, home):
            last = child
    return last


def _common_block(script: Training, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The innermost list of statements that holds all the given ones."""
    chains = []
    for statement in statements:
        chain: list[list[ast.stmt]] = []
        at: ast.AST = statement
        for up in script.file.ancestors(statement):
            for field in ("body", "orelse", "finalbody"):
                block = getattr(up, field, None)
                if isinstance(block, list) and at in block:
                    chain.append(block)
            at = up
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
                break
        chains.append(chain)
    others = [{id(block) for block in chain} for chain in chains[1:]]
    return next((block for block in chains[0] if all(id(block) in ids for ids in others)), script.file.tree.body)


def _touches(script: Training, statement: ast.stmt, home: Var) -> bool:
    """Does the statement bind the model, move it, load it, freeze parts of it or hand it to something?"""
    for node in [statement, *own_nodes(statement)]:
        if isinstance(node, (ast.Name, ast.Attribute)) and script.flow.var(node) == home:
            if isinstance(node.ctx, ast.Store):
                return True
            if _changes(script, node, statement):
                return True
    return False


def _changes(script: Training, use: ast.expr, statement: ast.stmt) -> bool:
    chain: list[str] = []
    at: ast.AST = use
    up = script.file.parent(at)
    while isinstance(up, (ast.Attribute, ast.Subscript)) and up.value is at:
        chain.append(up.attr if isinstance(up, ast.Attribute) else "[]")
        if isinstance(up.ctx, (ast.Store, ast.Del)):
            return True
        at, up = up, script.file.parent(up)
    if chain and isinstance(up, ast.Call) and up.func is at:
        freezes = chain[0] in PARAMETERS and isinstance(statement, (ast.For, ast.If))
        return chain[0] not in READERS or freezes
    # Handed to a function on its own: `init_weights(model)`; but `print(model)` and `loss(model(x))` change nothing.
    return (
        not chain
        and isinstance(up, ast.Call)
        and up.func is not at
        and isinstance(statement, (ast.Expr, ast.If))
        and not (isinstance(up.func, ast.Name) and up.func.id == "print")
    )
