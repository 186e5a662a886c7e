"""What MkDocs does for Jumar's site beside its own work: languages by twins, the README as home, pages from tables.

A page `x.md` and its twin `x.zh-CN.md` have one address in the two languages; the Chinese of a page without a twin is
put together from the catalogue of its folder. Every rule, finding and known error has the address that
`jumar.tables.pages.address` gives.
"""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from jinja2 import Environment, pass_context
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
import site_pages  # noqa: E402  needs jumar, which is not installed where the site is built
from jumar.core import lang, prose  # noqa: E402  the same

with suppress(ImportError):  # cuts Chinese into words for the search
    import jieba

    jieba.setLogLevel(logging.WARNING)

TWIN = ".zh-CN.md"
HOME = "index.md"
_FENCE = re.compile(r"^(\s*)(`{3,})(\w+) +(.+)$")
_CODE = re.compile(r"`[^`]*`")
"""Where GitHub needs a backslash before the bar of a table, MkDocs would show it."""
_LINK = re.compile(r"(\]\()([^)\s:#][^)\s:#]*)((?:#[^)\s]*)?\))")
_SWITCH = re.compile(r"^\[(?:中文|English)\]\([^)]*\)\n+", re.M)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    for other in config.extra["alternate"]:
        other["link"] = urljoin(config.site_url, other["base"])
    config.nav = _titled(config.nav, config.extra.get("sections", {}))
    return config


def _titled(nav: Any, titles: dict[str, str]) -> Any:
    """The navigation with its sections in the language of the site; pages have the titles of their headings."""
    if isinstance(nav, list):
        return [_titled(entry, titles) for entry in nav]
    if isinstance(nav, dict):
        return {titles.get(title, title): _titled(below, titles) for title, below in nav.items()}
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    chinese = config.theme["language"] == "zh"
    ids = site_pages.rule_ids()
    for file in [*files]:
        if file.src_uri.endswith(TWIN):
            files.remove(file)
        elif file.src_uri in ids:
            _move(file, f"explain/{ids[file.src_uri]}/")
    with lang.chosen(config.theme["language"]):
        made = site_pages.made()
    for place, text in made.items():
        _put(files, File.generated(config, place, content=text))
    _put(files, File.generated(config, HOME, abs_src_path=str(ROOT / "README.md")))
    if chinese:
        for place in [file.src_uri for file in files.documentation_pages()]:
            twin = _twin(place)
            if twin is not None:
                _put(files, File.generated(config, place, abs_src_path=str(twin)))
    return files


def _twin(place: str) -> Path | None:
    path = ROOT / "README.md" if place == HOME else ROOT / "docs" / place
    twin = path.with_name(path.name.removesuffix(".md") + TWIN)
    return twin if twin.is_file() else None


def _put(files: Files, file: File) -> None:
    old = files.get_file_from_path(file.src_uri)
    if old is not None:
        files.remove(old)
    files.append(file)


def _move(file: File, url: str) -> None:
    file.dest_uri = f"{url}index.html"
    file.url = url
    file.abs_dest_path = str(Path(file.dest_dir) / file.dest_uri)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    text = _SWITCH.sub("", markdown, count=1)
    if page.file.src_uri.startswith("rules/"):
        text = text.replace("\n", "\n\n[All rules](../../reference/rules.md)\n", 1)
    with lang.chosen(config.theme["language"]):
        if _twin(page.file.src_uri) is None:
            text = site_pages.shown(text)
        return _for_site(text, page, config)


def _for_site(text: str, page: Page, config: MkDocsConfig) -> str:
    """With titles above code, and links as the site needs them."""
    lines, fence = [], ""
    for line in text.splitlines():
        start = re.match(r"\s*(`{3,})", line)
        if start and (not fence or line.strip() == fence):
            fence = "" if fence else start[1]
            lines.append(_FENCE.sub(_titled_fence, line) if fence else line)
        elif fence:
            lines.append(line)
        else:
            plain = _CODE.sub(lambda code: code[0].replace(r"\|", "|"), line)
            lines.append(_LINK.sub(lambda found: found[1] + _target(found[2], page, config) + found[3], plain))
    return "\n".join(lines)


def _titled_fence(fence: re.Match[str]) -> str:
    """`python before unsafe` becomes a title above the code."""
    word, *options = fence[4].split()
    return f'{fence[1]}{fence[2]}{fence[3]} title="{" ".join([prose.shown(word), *options])}"'


def _target(link: str, page: Page, config: MkDocsConfig) -> str:
    """A link as the site needs it: to the page of this language, or to the repository for what is not under docs."""
    home = page.file.src_uri == HOME
    here = "" if home else posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    there = posixpath.normpath(posixpath.join(here, link.replace(TWIN, ".md")))
    if there == "README.md":
        there = f"docs/{HOME}"
    if there.startswith("docs/") and (ROOT / there).is_dir():
        there = {"docs/results": "docs/results/emulator.md", "docs/reference": "docs/reference/cli.md"}[there]
    if not there.startswith("docs/"):
        kind = "tree" if (ROOT / there).is_dir() else "blob"
        return f"{config.repo_url.rstrip('/')}/{kind}/main/{there}"
    return posixpath.relpath(there, posixpath.join("docs", posixpath.dirname(page.file.src_uri)))


def on_env(env: Environment, *, config: MkDocsConfig, files: Files) -> Environment:
    """MkDocs bends links that leave the site, as those from Chinese pages to English ones do: they stay as they are."""
    plain = env.filters["url"]
    env.filters["url"] = pass_context(lambda context, link: link if link.startswith("../") else plain(context, link))
    return env


def on_page_context(context: dict[str, Any], *, page: Page, config: MkDocsConfig, nav: Any) -> dict[str, Any]:
    """The switch leads to this page in the other language."""
    for other in config.extra["alternate"]:
        other["link"] = "../" * page.url.count("/") + other["base"] + page.url or "./"
    return context
