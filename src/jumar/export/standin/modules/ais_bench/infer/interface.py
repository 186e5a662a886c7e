"""`from ais_bench.infer.interface import InferSession` works where no real one is installed."""

from jumar.export.standin.session import InferSession, MemorySummary, MultiDeviceSession, Summary

__all__ = ["InferSession", "MemorySummary", "MultiDeviceSession", "Summary"]
