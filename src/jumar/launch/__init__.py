"""Many cards, many machines, on engines that exist: torch elastic, msrun, Slurm, Volcano; rank tables and addresses."""
