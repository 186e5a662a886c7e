"""`import aclruntime` works where no real one is installed."""

from jumar.export.standin.aclruntime import InferenceSession, Tensor, session_options
from jumar.export.standin.aclruntime import __getattr__ as __getattr__

__all__ = ["InferenceSession", "Tensor", "session_options"]
