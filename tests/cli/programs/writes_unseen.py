"""Writes to a path that no file of the program shows."""

import argparse


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.parse_args()
    with open("".join(reversed("seton")), "w") as file:
        file.write("x")


if __name__ == "__main__":
    main()
