def init():
    print("INIT", flush=True)
