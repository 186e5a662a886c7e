"""Writes to a path that no file of the program shows."""

import argparse
import os


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.parse_args()
    with open(os.environ.get("NOTES", "notes"), "w") as file:
        file.write("x")


if __name__ == "__main__":
    main()
