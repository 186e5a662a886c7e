"""`from ais_bench.infer.interface import InferSession` works where no real one is installed."""

from jumar.export.standin.session import InferSession, Summary

__all__ = ["InferSession", "Summary"]
