"""`jumar completion`: where each shell looks for completions, and what is written there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from jumar.core import write
from jumar.core.compat import dataclass
from jumar.core.errors import UserError

SHELLS = ("bash", "zsh", "fish")
_MARK = "# completion of jumar"


@dataclass(frozen=True, slots=True)
class Install:
    """The script of a shell, and the line that loads it; fish needs none."""

    shell: str
    script: Path
    text: str
    start: Path | None
    """The file that the shell reads at its start."""

    @property
    def line(self) -> str:
        """Loads the script if it is there."""
        return f'[ -r "{self.script}" ] && . "{self.script}"  {_MARK}'


def shell_of(environ: Mapping[str, str]) -> str:
    """The shell of the user."""
    name = Path(environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise UserError(f"no completion for the shell `{name or 'unknown'}`", f"name one: {', '.join(SHELLS)}")
    return name


def build(shell: str, text: str, environ: Mapping[str, str]) -> Install:
    """What would be written."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if shell == "fish":
        config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        return Install(shell, config / "fish" / "completions" / "jumar.fish", text, None)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    start = Path(environ.get("ZDOTDIR") or home) / ".zshrc" if shell == "zsh" else home / ".bashrc"
    return Install(shell, data / "jumar" / f"completion.{shell}", text, start)


def carry_out(made: Install) -> list[Path]:
    """Write the script, and the line once; the files that changed."""
    write.make_folder(made.script.parent)
    write.replace(made.script, made.text.encode())
    if made.start is None:
        return [made.script]
    before = made.start.read_text(encoding="utf-8", errors="surrogateescape") if made.start.exists() else ""
    kept = [line for line in before.splitlines() if not line.endswith(_MARK)]
    after = "\n".join([*kept, made.line]) + "\n"
    if after == before:
        return [made.script]
    write.replace(made.start, after.encode("utf-8", "surrogateescape"))
    return [made.script, made.start]


def rules() -> list[str]:
    """Ids and names of the rules of `jumar migrate`."""
    from jumar.migrate.rule import all_rules

    known = all_rules()
    return [*(unit.rule.id for unit in known), *(unit.rule.name for unit in known)]


def explained(*, every: bool) -> list[str]:
    """Ids that `jumar explain` knows; with `every`, also names and codes."""
    from jumar.machine.explain import names
    from jumar.tables import pages

    known = pages.pages()
    return [*known, *(page.name for page in known.values()), *names.known()] if every else [*known]
