"""Rules for shell text: scripts, Slurm batch files, Dockerfiles, recipes of Makefiles, `!` lines of notebooks."""
