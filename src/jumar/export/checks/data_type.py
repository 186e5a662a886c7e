"""Data types that the chip or ATC has trouble with."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject

CHECK = Check("EX109", "data-type", "every value has a type that the chip supports")
ODD = {"STRING", "COMPLEX64", "COMPLEX128"}
NEW = ("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2")


def run(subject: Subject) -> Iterator[Finding]:
    by_type: dict[str, list[str]] = {}
    for name, type_ in subject.view.types.items():
        by_type.setdefault(type_.element, []).append(name)
    for name, type_ in subject.view.inputs:
        if type_.shape is None and type_.element in ("sequence", "optional", "map", "sparse_tensor"):
            message = f"input `{name}` is a {type_.element}: an offline model takes plain tensors"
            yield subject.finding(CHECK, Level.ERROR, message, "export the model with tensors as inputs", name)
    for element, names in sorted(by_type.items()):
        verdict = _verdict(element, subject)
        if verdict is not None:
            level, why, fix = verdict
            shown = ", ".join(f"`{name}`" for name in names[:3]) + (", …" if len(names) > 3 else "")
            message = f"{element}: {why} ({len(names)} value{'' if len(names) == 1 else 's'}: {shown})"
            yield subject.finding(CHECK, level, message, fix, element)


def _verdict(element: str, subject: Subject) -> tuple[Level, str, str] | None:
    if element == "DOUBLE":
        return Level.WARNING, "computed outside the AI cores", "export the model in float32"
    if element in ODD:
        return Level.ERROR, "offline models do not support it", "do this part on the host"
    if element.startswith(NEW):
        return (
            Level.ERROR,
            "newer than the opsets that ATC parses",
            "export the float model; quantize with the vendor's AMCT",
        )
    if element == "BFLOAT16" and subject.bfloat16 is False:
        return Level.ERROR, "this chip has no bfloat16", "export the model in float32 or float16"
    return None
