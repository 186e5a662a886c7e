"""`import aclruntime` works where no real one is installed."""

from jumar.export.standin.aclruntime import InferenceSession, MemorySummary, session_options
from jumar.export.standin.aclruntime import __getattr__ as __getattr__
from jumar.export.standin.tensor import BaseTensor, Tensor

__all__ = ["BaseTensor", "InferenceSession", "MemorySummary", "Tensor", "session_options"]
