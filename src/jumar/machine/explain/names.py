"""Explains a name: a code such as 507015 or EI0006, a signature, an environment variable."""

from __future__ import annotations

import re
from typing import NamedTuple

from jumar.tables import environment, errors
from jumar.tables.errors import Code, Signature, Trait


class Topic(NamedTuple):
    """What is known about a name."""

    name: str
    kind: str
    """`signature`, `acl`, `cann`, `hccl`, `variable` or `cuda variable`."""
    title: str
    about: str
    source: str
    signatures: tuple[Signature, ...]
    """Known errors that it stands for; the first fits best."""


def topic(name: str) -> Topic | None:
    """None where the name is not known."""
    plain = name.strip().upper().replace("-", "_")
    row = errors.signatures().get(plain)
    if row is not None:
        return Topic(row.id, "signature", row.what, "", row.source, (row,))
    return _code(plain) or _code_by_name(plain) or (None if "-" in name else _variable(plain))


def known() -> list[str]:
    """Every name that `topic` knows, for the nearest one to a mistyped name."""
    return [
        *errors.signatures(),
        *errors.codes(Code.ACL),
        *errors.codes(Code.ACL).values(),
        *errors.codes(Code.CANN),
        *environment.npu_variables(),
        *environment.variables(),
    ]


def _code(code: str) -> Topic | None:
    for kind, line in ((Code.ACL, f"error code is {code}"), (Code.CANN, f"{code}: ")):
        title = errors.code_name(kind, code)
        if title is not None:
            return Topic(code, kind, title, errors.code_area(kind, code), _source(kind), _fitting(line))
    rows = _of_torch_npu(code) if code.startswith("ERR") else _fitting(f"{code}: ")
    if not rows or not re.fullmatch(r"ERR\d{5}|E[A-Z1-9]\d{4}", code):
        return None
    return Topic(code, Code.CANN, rows[0].what, errors.code_area(Code.CANN, code), rows[0].source, rows)


def _of_torch_npu(code: str) -> tuple[Signature, ...]:
    """Its own codes: ERR, two digits for the part, three for the kind; the table has them with their texts."""
    rows = [row for row in errors.signatures().values() if row.match.startswith(r"ERR\d")]
    return tuple(row for row in rows if re.fullmatch(row.match.partition(" ")[0], code))


def _code_by_name(name: str) -> Topic | None:
    for kind in (Code.ACL, Code.HCCL):
        for code, title in errors.codes(kind).items():
            if title == name:
                return _code(code) or Topic(code, kind, title, "result of a call of HCCL", _source(kind), ())
    return None


def _variable(name: str) -> Topic | None:
    npu = environment.npu_variables().get(name)
    if npu is not None:
        return Topic(name, "variable", npu.what, f"without it: {npu.default}" if npu.default else "", npu.source, ())
    cuda = environment.variable(name)
    if cuda is None:
        return None
    title = f"a variable of CUDA machines; on NPUs: {cuda.npu}" if cuda.npu else "a variable of CUDA machines"
    return Topic(name, "cuda variable", title, cuda.note, cuda.source, ())


def _fitting(line: str) -> tuple[Signature, ...]:
    """Signatures of such a line; catch-all ones only where there is nothing better."""
    rows = [row for row in errors.signatures().values() if errors.pattern(row).search(line)]
    special = [row for row in rows if not row.alone]
    return tuple(special or [row for row in rows if Trait.MODULE_CODE in row.traits])


def _source(kind: str) -> str:
    return {
        Code.ACL: "hicann/runtime docs/zh/api_ref/25-01_aclError.md",
        Code.CANN: "hicann/runtime src/dfx/error_manager/error_code.json",
        Code.HCCL: "hccl_types.h of the published torch_npu 2.13.0 wheel",
    }[Code(kind)]
