import places


def run(device):
    return places.move(device)
