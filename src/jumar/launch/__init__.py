"""Many cards and machines, on existing engines: torch elastic, msrun, Slurm, Volcano; rank tables and addresses."""
