"""`tbe.common.platform`: Triton libraries ask it how large the unified buffer is, to choose their blocks."""

from __future__ import annotations

from typing import Any

from jumar.runtime import variables
from jumar.tables import socs

_ASKED = {"SOC": variables.SOC.read()}
_CORES = {"AiCore": "cube_core", "VectorCore": "vector_core"}


def set_current_compile_soc_info(soc_version: str, core_type: str = "AiCore", *_: Any) -> None:
    _ASKED.update(SOC=socs.known(soc_version), CORE=core_type)


def get_soc_spec(key: str) -> Any:
    """A fact about the chip; those that are not known here are an error, as unknown keys are in CANN."""
    chip = socs.socs()[_ASKED["SOC"]]
    facts: dict[str, Any] = {
        "UB_SIZE": int(chip["ub_kib"]) * 1024,
        "CORE_NUM": int(chip[_CORES.get(_ASKED.get("CORE", "AiCore"), "cube_core")]),
        "L2_SIZE": int(chip["l2_mib"]) << 20,
        "FULL_SOC_VERSION": _ASKED["SOC"],
        "SHORT_SOC_VERSION": chip["short_soc"],
        "AICORE_TYPE": _ASKED.get("CORE", "AiCore"),
    }
    if key not in facts:
        raise RuntimeError(f"the emulated card does not know `{key}`; it knows {', '.join(facts)}")
    return facts[key]
