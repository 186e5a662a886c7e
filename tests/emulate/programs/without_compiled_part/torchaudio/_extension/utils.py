def _load_lib(lib):
    raise OSError(f"Could not load this library: {lib}")
