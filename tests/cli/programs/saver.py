"""Functions of another file that write where they are told."""

import os


def keep_text(text, path):
    with open(path, "w") as file:
        file.write(text)


class Saver:
    def __init__(self, folder):
        self.folder = folder

    def keep(self, text):
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "part.txt"), "w") as file:
            file.write(text)
