"""Settings of a program: a parser whose options come from a file."""

import argparse
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def read():
    with open(os.path.join(HERE, "settings.json")) as file:
        values = json.load(file)
    parser = argparse.ArgumentParser()
    for name, value in values.items():
        parser.add_argument("--" + name, default=value)
    return parser.parse_args()


config = read()
