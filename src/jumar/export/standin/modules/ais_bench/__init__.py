"""The stand-in of the vendor's inference runner; only `ais_bench.infer.interface` exists."""
