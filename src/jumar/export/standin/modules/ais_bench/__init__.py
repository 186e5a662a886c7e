"""The stand-in of the vendor's inference runner: its command line and `ais_bench.infer.interface`."""
