"""`import aclruntime` works where no real one is installed."""

from jumar.export.standin.aclruntime import InferenceSession, session_options
from jumar.export.standin.aclruntime import __getattr__ as __getattr__
from jumar.export.standin.tensor import Tensor

__all__ = ["InferenceSession", "Tensor", "session_options"]
