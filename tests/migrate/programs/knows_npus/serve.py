def device(kind):
    if kind == "GPU":
        device = "cuda"
    else:
        device = "cpu"
    return device
