"""Draws the terminal of the README: `--record` types the commands on the example, the picture is made from what came.

The recording is docs/results/data/terminal.txt; `tools/generate.py` draws docs/assets/terminal.svg from it, so that a
check needs no run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDING = ROOT / "docs" / "results" / "data" / "terminal.txt"
PICTURE = ROOT / "docs" / "assets" / "terminal.svg"
COMMANDS = (
    "jumar migrate shapes -o shapes-npu",
    "jumar run shapes-npu/train.py --epochs 2",
    "jumar explain 507015",
)
COLUMNS, STEP, LINE, LEFT, TOP = 80, 8.4, 20, 20, 56
UP, ERASE = "\x1b[1A", "\x1b[2K"
_MOVES = re.compile(r"(\n|\x1b\[1A|\x1b\[2K)")
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_OTHER = re.compile(r"\x1b\[[\d;?]*[A-Za-ln-z]|\r")
COLOURS = {"31": "#ff8a80", "32": "#8fd694", "33": "#f0c674", "34": "#8ab4ff", "35": "#d7a8ff", "36": "#7fd8d8"}
STYLE = """text { fill: #dce3ee }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace }
.b { font-weight: 700 } .d { fill: #8b98ab } .p { fill: #8fd694; font-weight: 700 }"""


def record() -> str:
    """What the commands print on a terminal of their own, one after the other."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples" / "shapes", Path(folder, "shapes"))
        for command in COMMANDS:
            parts.append(f"$ {command}\n{_typed(command, folder)}")
    return "\n".join(parts)


def _typed(command: str, folder: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "COLUMNS": str(COLUMNS), "TERM": "xterm", "PAGER": "cat"}
    call = ["script", "-qec", f"stty cols {COLUMNS}; {command}", "/dev/null"]
    done = subprocess.run(call, cwd=folder, env=environ, capture_output=True, check=False)
    return "\n".join(_left(done.stdout.decode())).rstrip() + "\n"


def _left(text: str) -> list[str]:
    """The lines that are left in the end: a progress bar is drawn and erased."""
    rows, at = [""], 0
    for token in _MOVES.split(text):
        if token == "\n":
            at += 1
            rows += [""] * (at == len(rows))
        elif token == UP:
            at = max(at - 1, 0)
        elif token == ERASE:
            rows[at] = ""
        else:
            rows[at] += _OTHER.sub("", token)
    return rows


def picture(recording: str) -> str:
    """The recording as SVG: one line of text after the other, long ones broken as a terminal breaks them."""
    lines = [part for line in recording.splitlines() for part in _broken(line)]
    width, height = LEFT * 2 + COLUMNS * STEP, TOP + LINE * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img"'
        f' aria-label="{escape(", ".join(COMMANDS))}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height}" rx="10" fill="#10151d"/>',
        *(f'<circle cx="{LEFT + 2 + 20 * at}" cy="20" r="6" fill="#3a4656"/>' for at in range(3)),
    ]
    for number, line in enumerate(lines):
        if line:
            parts.append(f'<text x="{LEFT}" y="{TOP + LINE * number}" xml:space="preserve">{_painted(line)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _broken(line: str) -> list[str]:
    plain = _SGR.sub("", line)
    if len(plain) <= COLUMNS:
        return [line]
    return [plain[at : at + COLUMNS] for at in range(0, len(plain), COLUMNS)]


def _painted(line: str) -> str:
    if line.startswith("$ "):
        return f'<tspan class="p">$</tspan> <tspan class="b">{escape(line[2:])}</tspan>'
    if line.startswith("jumar: "):
        return f'<tspan class="d">{escape(line)}</tspan>'
    words, *rest = _SGR.split(line)
    parts = [escape(words)]
    for codes, text in zip(rest[::2], rest[1::2], strict=True):
        parts.append(
            f"<tspan{_style(codes)}>{escape(text)}</tspan>" if text and codes not in ("", "0") else escape(text)
        )
    return "".join(parts)


def _style(codes: str) -> str:
    names = codes.split(";")
    classes = " ".join(name for code, name in (("1", "b"), ("2", "d")) if code in names)
    colour = next((COLOURS[code] for code in names if code in COLOURS), "")
    return (f' class="{classes}"' if classes else "") + (f' fill="{colour}"' if colour else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="run the commands first")
    if parser.parse_args().record:
        RECORDING.write_text(record(), encoding="utf-8")
    PICTURE.write_text(picture(RECORDING.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
