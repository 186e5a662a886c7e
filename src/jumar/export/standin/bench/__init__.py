"""`python3 -m ais_bench`: the command line of the vendor's inference runner, over the stand-in."""
