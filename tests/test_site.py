"""The site: every page is in the navigation, every id has a page, and its address is the same wherever it is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import links
import messages
import site_pages
import terminal_svg
from jumar import api
from jumar.core import compat, lang
from jumar.tables import errors, pages

ROOT = Path(__file__).parents[1]


class _Loader(yaml.SafeLoader):
    """Reads what MkDocs hands to Python as a plain value."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def _site(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.load((ROOT / name).read_text(encoding="utf-8"), Loader=_Loader)
    return read


ENGLISH, CHINESE = _site("mkdocs.yml"), _site("mkdocs.zh.yml")


def _places(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    below = nav if isinstance(nav, list) else nav.values()
    return [place for entry in below for place in _places(entry)]


def _sections(nav: Any) -> list[str]:
    if isinstance(nav, list):
        return [title for entry in nav for title in _sections(entry)]
    return [] if isinstance(nav, str) else [name for title in nav for name in (title, *_sections(nav[title]))]


def test_every_page_is_in_the_navigation() -> None:
    docs = ROOT / "docs"
    kept = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md") if not path.name.endswith(".zh-CN.md")}
    made = set(site_pages.made()) | {"index.md"}
    apart = {place for place in kept | made if place.startswith(("rules/", "explain/"))}
    assert sorted(_places(ENGLISH["nav"])) == sorted((kept | made) - apart)


def test_every_section_has_a_chinese_name() -> None:
    names = set(CHINESE["extra"]["sections"])
    assert names == {title for title in _sections(ENGLISH["nav"]) if title != "MindSpore"}


def test_the_address_is_one() -> None:
    project = compat.tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Documentation"] == ENGLISH["site_url"] == pages.SITE
    assert CHINESE["site_url"] == f"{pages.SITE}zh/"
    assert pages.address("PT101", lang.CHINESE) == f"{CHINESE['site_url']}explain/PT101/"
    assert ENGLISH["repo_url"] == project["urls"]["Source"]
    assert pages.SITE in (ROOT / "RELEASING.md").read_text(encoding="utf-8")


def test_every_id_has_the_page_that_its_address_names() -> None:
    made = {Path(place).stem for place in site_pages.made() if place.startswith("explain/")}
    there = made | set(site_pages.rule_ids().values())
    assert there == {*pages.pages(), *errors.signatures()}
    assert pages.address("PT101") == f"{pages.SITE}explain/PT101/"


def test_findings_are_listed_with_what_they_say() -> None:
    listed = site_pages.made()["findings/doctor.md"]
    row = r"\| DR104 \| \[shared-memory\]\(../explain/DR104.md\) \| Loaders with workers pass batches .* there. \|"
    assert re.search(row, listed)
    assert "\n## " not in listed


def test_chinese_pages_keep_the_anchors_of_the_english_ones() -> None:
    page = "# Keys of `[migrate]`\n\n## Why\n\n```sh\n# Why\n```\n\n## Why\n\n### What `__future__` is\n"
    anchors = r"{#keys-of-migrate} {#why} {#why\_1} {#what-\_\_future\_\_-is}"
    assert " ".join(f"{{#{anchor}}}" for anchor in site_pages._anchors(page)) == anchors
    with lang.chosen(lang.CHINESE):
        assert "\n\n## 原因 {#why}\n\n```sh\n# Why\n```\n\n## 原因 {#why\\_1}\n" in site_pages.shown(page)
    assert site_pages.shown(page) == page


def test_every_page_is_in_chinese_by_a_twin_or_a_catalogue() -> None:
    docs, twin = ROOT / "docs", messages.TWIN
    folders = {area.pages for area in messages.AREAS.values() if area.complete and area.pages}
    for path in (path for path in docs.rglob("*.md") if not path.name.endswith(twin)):
        assert path.with_suffix(twin).is_file() or path.relative_to(docs).parts[0] in folders, path
    terms = [re.findall(r"^\| (.+? \| .*?) \|", (docs / name).read_text("utf-8"), re.M)
             for name in ("glossary.md", f"glossary{twin}")]  # fmt: skip
    assert terms[0] == terms[1]


def test_pages_from_tables_are_framed_in_chinese() -> None:
    with lang.chosen(lang.CHINESE):
        made = [
            site_pages._errors(),
            *(site_pages.error(errors.signatures()[id_]) for id_ in ("ACLNN_DTYPE", "ACLNN_561103")),
        ]
        frames = [site_pages.shown(page) for page in made]
    titles = [title for frame in frames for title in re.findall(r"^#+ (.+?) \{#", frame, re.M)]
    plain = {"ACLNN_DTYPE", "ACLNN_561103", "HCCL", "MindIE", "MindSpore", "ModelArts", "torch_npu", "vLLM"}
    assert {title.replace("\\", "") for title in titles if not re.search("[一-鿿]", title)} == plain
    assert "| 编号 | 发生了什么 |" in frames[0]
    assert all("[全部已知错误](../errors.md)" in frame for frame in frames[1:])


@pytest.mark.parametrize("id_", ["ACLNN_DTYPE", "ACLNN_561103"])
def test_the_page_of_an_error_says_what_the_row_says(id_: str) -> None:
    row = errors.signatures()[id_]
    page = site_pages.error(row)
    assert row.example in page
    assert ("## Worth a try" if id_ == "ACLNN_561103" else "## What to do") in page
    assert len(re.findall(r"^- ", page, re.M)) == len(row.do)


def test_categories_have_titles() -> None:
    assert {row.category for row in errors.signatures().values()} == set(site_pages.CATEGORIES)


def test_addresses_outside_are_found_beside_code() -> None:
    known = links.addresses()
    assert all(address.startswith("http") and places for address, places in known.items())


def test_the_picture_shows_what_the_commands_still_print() -> None:
    """The quick ones among the recorded commands; those that train are recorded anew by hand."""
    recorded = terminal_svg.RECORDING.read_text(encoding="utf-8")
    assert [line[2:] for line in recorded.splitlines() if line.startswith("$ ")] == [*terminal_svg.COMMANDS]
    said = str(api.explain("507015")).strip()
    assert terminal_svg.COMMANDS[-1] == "jumar explain 507015"
    assert recorded.partition(f"$ {terminal_svg.COMMANDS[-1]}\n")[2].strip() == said


def test_a_picture_has_every_line_and_its_colours() -> None:
    drawn = terminal_svg.picture("$ jumar x\n\x1b[1;31merror\x1b[0m: a < b\n" + "y" * 150)
    assert '<tspan class="b">jumar x</tspan>' in drawn
    assert '<tspan class="b" fill="#ff8a80">error</tspan>: a &lt; b' in drawn
    assert drawn.count("<text ") == 4


def test_what_a_progress_bar_erases_is_not_drawn() -> None:
    raw = "\x1b[?25l\r\x1b[2Kreading 0/6\r\x1b[2Kreading 6/6\r\n\x1b[?25h\r\x1b[1A\x1b[2K6 files read\r\ndone\r\n"
    assert terminal_svg._left(raw) == ["6 files read", "done", ""]
