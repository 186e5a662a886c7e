"""A requirement on torch: the torch_npu of the same version is added beside it, from the table of versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from packaging.version import Version

from jumar.core.finding import Finding, State
from jumar.migrate import pins
from jumar.migrate.pins import How, Pin
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style
from jumar.migrate.textfile import TextFile
from jumar.tables.versions import Release, nearest, release_for, release_within

RULE = Rule(
    id="RQ101",
    name="torch-requirement",
    summary="torch without the matching torch_npu",
    keywords=("torch",),
)

_DOCUMENTATION = {"doc", "docs", "documentation"}
_PLAIN_SINCE = Version("2.12")
"""From here on the wheels are known to ask for the plain torch; the x86_64 one of 2.7.1.post8 asks for `+cpu`."""


def visit_pins(found: list[Pin], file: TextFile) -> Iterator[Finding]:
    """All requirements of the file at once: a torch_npu may already stand elsewhere."""
    have = {pin.group for pin in found if pin.name == "torch-npu"}
    done: set[tuple[str, ...]] = set()
    for pin in found:
        if pin.group in have or pin.group in done:
            continue
        if pin.name == "torch" and pin.how is not How.CONDA:
            done.add(pin.group)
            yield from _torch(pin, file)
        elif pin.name == "pytorch" and pin.how is How.CONDA:
            done.add(pin.group)
            row = release_for(file.settings.torch)
            fix = f"install with pip: `torch=={row.torch} torch_npu=={row.torch_npu}`" if row else None
            yield file.report(
                RULE, (pin.start, pin.end), State.HAND, "torch_npu does not come from a conda channel", fix
            )


def _torch(pin: Pin, file: TextFile) -> Iterator[Finding]:
    span = (pin.start, pin.end)
    if _DOCUMENTATION.intersection(PurePath(file.source.path).parts[:-1]):
        yield file.report(RULE, span, State.BENIGN, "torch for building the documentation, which needs no card")
        return
    allowed = pins.specifier(pin)
    if allowed is None:
        message = "torch_npu must match this torch, whose version is unknown"
        yield file.report(RULE, span, State.HAND, message, "add the `torch_npu` of the same version")
        return
    version = pins.exact(allowed)
    row = release_for(version) if version else release_within(allowed, file.settings.torch)
    if row is None:
        yield file.report(RULE, span, State.HAND, _no_row(pin.text, version), "choose a torch that torch_npu supports")
        return
    message = f"`torch_npu=={row.torch_npu}` belongs to torch {row.torch} (CANN {row.cann})"
    if Version(row.torch) < _PLAIN_SINCE:
        message += f"; its x86_64 wheel may ask for `torch=={row.torch}+cpu`, which is on PyTorch's CPU index"
    if not row.published:
        fix = f"install `torch_npu` {row.torch_npu} from the vendor's release page: there is no public wheel"
        yield file.report(RULE, span, State.HAND, message, fix)
        return
    yield from _add(pin, file, row, message)


def _add(pin: Pin, file: TextFile, row: Release, message: str) -> Iterator[Finding]:
    span = (pin.start, pin.end)
    edit = pins.beside(file, pin, "torch_npu", row.torch_npu)
    if pin.is_from_index:
        fix = f"install it afterwards, from the default index: `pip install torch_npu=={row.torch_npu}`"
        yield file.report(RULE, span, State.HAND, message, fix)
    elif edit is None or file.settings.to is Style.AGNOSTIC:
        yield file.report(RULE, span, State.HAND, message, f"on an Ascend machine add `torch_npu=={row.torch_npu}`")
    else:
        yield file.rewrite(RULE, span, message, edit)


def _no_row(text: str, version: str | None) -> str:
    near = nearest(version) if version else None
    hint = f"; the nearest is torch {near.torch} with torch_npu {near.torch_npu}" if near else ""
    return f"there is no torch_npu for `{' '.join(text.split())}`{hint}"
