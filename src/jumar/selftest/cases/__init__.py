"""The cases of `jumar selftest`: one module for each family; a module is found by its place."""
