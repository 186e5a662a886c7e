"""What every feature needs of the process it runs in: other processes, NPUs, `jumar.toml`, variables, hooks."""
