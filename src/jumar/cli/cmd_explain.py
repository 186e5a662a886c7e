"""`jumar explain ID`: the page about a rule, as it stands in the documentation."""

from __future__ import annotations

import click


@click.command("explain", short_help="Print the page about a rule or finding")
@click.argument("name", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(name: str, as_json: bool) -> int:
    """Print the page about ID, which is an id (PT101) or a name (cuda-device-string)."""
    from jumar.core.errors import UserError
    from jumar.core.nearest import did_you_mean
    from jumar.report import json
    from jumar.tables import pages

    known = pages.pages()
    by_name = {page.name: page.id for page in known.values()}
    asked = name.upper() if name.upper() in known or name.upper() in pages.renamed() else by_name.get(name.lower(), "")
    current = pages.renamed().get(asked, asked)
    if current not in known:
        hint = did_you_mean(name, [*known, *by_name], "`jumar migrate --list` lists the rules")
        raise UserError(f"no page about `{name}`", hint)
    page = known[current]
    if as_json:
        click.echo(json.dump({"id": page.id, "name": page.name, "area": page.area, "page": page.text}))
        return 0
    if current != asked:
        click.echo(f"`{asked}` is now `{current}`", err=True)
    click.echo(page.text.rstrip("\n"))
    return 0
