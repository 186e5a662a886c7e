"""`python -m jumar` and the `jumar` command: the folder one is in is a project, and nothing is imported from there.

Before 3.11 has `-P`, `python -m` puts the current folder before everything else, and a `PYTHONPATH` with an empty part
does the same for every program: a project with a `click.py` would run it in our place. Only built-in modules are
imported before that is put right.
"""

import sys


def main() -> int:
    """Run the command line; its exit code."""
    _leave_out_current_folder()
    from jumar.cli.main import main

    return main()


def _leave_out_current_folder() -> None:
    import posix

    try:
        here = posix.getcwd()
    except OSError:
        return
    # With `-P` or as an installed script it is not there; Jumar's own sources may be worked on from inside.
    ours = __file__.rpartition("/jumar/")[0]
    sys.path[:] = [place for place in sys.path if (place or here) != here or (place or here) == ours]


if __name__ == "__main__":
    sys.exit(main())
