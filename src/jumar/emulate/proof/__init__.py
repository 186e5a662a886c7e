"""Proof by execution: what a project's modules and tests do on the emulator, before the migration and after it."""
