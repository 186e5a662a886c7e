def is_fast(config):
    return config.place == "cuda" or config.engine == "cuda"
