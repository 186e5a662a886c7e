"""Rules for YAML, JSON, TOML and INI files."""
