"""The releases of torch that torch_npu supports."""

from __future__ import annotations

from jumar.tables.load import table


def releases() -> list[str]:
    """Every such release, oldest first."""
    return list(dict.fromkeys(row["torch"] for row in table("torch_npu_versions.json")["releases"]))


def find(wanted: str) -> str | None:
    """The newest release that `wanted` means: `2.7` is 2.7.1, `v2.13.0+cpu` is 2.13.0."""
    plain = wanted.strip().lower().removeprefix("v").partition("+")[0]
    fits = [release for release in releases() if release == plain or release.startswith(f"{plain}.")]
    return fits[-1] if fits else None
