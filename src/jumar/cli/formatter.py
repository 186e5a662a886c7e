"""Help in Chinese: click's formatter with translated words, and lines that break where Chinese lines may."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from jumar.core.lang import t, width

_UNIT = re.compile(r"\s+|[（“‘《【]*(?:[!-~]+|.)[，。：；、！？）”’》】…]*", re.S)
"""What stays together: a run of Latin letters, or a Chinese character with the marks around it."""
_NO_START = "，。：；、！？）”’》】…"


class ChineseFormatter(click.HelpFormatter):
    """Translates what it is given; the widths of the columns count what a terminal shows."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        words = args.replace("[OPTIONS]", "[选项]").replace("COMMAND [ARGS]...", "命令 [参数]...")
        self.write(f"{t('Usage:')}{prog} {words}\n")

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{t(heading)}：\n")

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
        drawn = []
        for block in blocks:
            if block.lstrip().startswith("\b"):
                lines = block.lstrip().removeprefix("\b").strip("\n").splitlines()
                drawn.append("\n".join(f"{indent}{t(line)}" for line in lines))
            else:
                drawn.append("\n".join(wrap(t(" ".join(block.split())), self.width, indent)))
        self.write("\n\n".join(drawn) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        first = min(max((width(term) for term, _ in rows), default=0), col_max) + col_spacing
        indent = " " * self.current_indent
        room = max(self.width - self.current_indent - first - 2, 10)
        for term, text in rows:
            lines = wrap(t(text), room)
            head = f"{indent}{term}"
            if lines and width(term) <= first - col_spacing:
                head += " " * (first - width(term)) + lines.pop(0)
            self.write(f"{head}\n")
            for line in lines:
                self.write(f"{indent}{'':>{first}}{line}\n")


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """Lines of at most so many columns; none begins with a mark that closes something."""
    lines, line = [], ""
    for unit in _units(text):
        if line.strip() and width(indent) + width(line) + width(unit.rstrip()) > columns:
            lines.append(indent + line.rstrip())
            line = ""
        line += unit if line else unit.lstrip()
    return [*lines, indent + line.rstrip()] if line.strip() else lines


def _units(text: str) -> Iterator[str]:
    """The parts that are not broken; a closing mark stays with what it closes."""
    held = ""
    for match in _UNIT.finditer(text):
        if held and match[0][0] not in _NO_START:
            yield held
            held = ""
        held += match[0]
    if held:
        yield held
