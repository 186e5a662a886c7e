"""OBS and ModelArts: storage, jobs, and a stand-in for both on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumar.cloud.session import Session

__all__ = ["Session"]


def __getattr__(name: str) -> Any:
    if name == "Session":
        from jumar.cloud.session import Session

        return Session
    raise AttributeError(f"module `jumar.cloud` has no attribute `{name}`")
