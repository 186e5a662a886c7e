"""Stand-ins for ATC, the `.om` file, and the modules that load it."""
