"""A group of commands whose help says each of them in a whole sentence: click itself cuts what does not fit a line."""

from __future__ import annotations

import click


class Listed(click.Group):
    """Long sentences go on in the next line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for name in self.list_commands(ctx):
            found = self.get_command(ctx, name)
            if found is not None and not found.hidden:
                rows.append((name, found.get_short_help_str(limit=1000).removesuffix(".")))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
