"""Does it compute the same: records of runs, their comparison, and the first operator that differs."""
