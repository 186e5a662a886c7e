"""What a captured graph of a compiled function must be told before each replay: lengths of sequences, mostly.

An operator of the card reads such numbers when it is captured, so torch_npu's generators write beside the code of the
graph where its inputs hold the new ones (`_inductor/_aclgraph_update_plan`), and its graph trees refuse to run without.
Releases without such plans need none.
"""

from __future__ import annotations

from typing import Any

from torch._inductor.codegen.wrapper import SubgraphPythonWrapperCodegen

try:
    from torch_npu._inductor import _aclgraph_update_plan as _plan
except ImportError:
    _plan = None


def note(wrapper: Any, node: Any) -> None:
    """An operator that is called as it is: the plan gets an entry where it reads numbers."""
    if _plan is not None:
        _plan.append_inductor_aclgraph_update_plan_for_codegen_node(wrapper, node)


def write(wrapper: Any, result: Any) -> None:
    """At the end of the code of a graph, or of the part of one that is captured."""
    if _plan is None:
        return
    part = isinstance(wrapper, SubgraphPythonWrapperCodegen) and wrapper.partition_signatures is not None
    _plan.emit_inductor_aclgraph_update_plan_for_wrapper(wrapper, result, part)
