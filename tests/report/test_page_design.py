"""One design for every page: recorded documents become pages of one frame, readable in both themes, safe and whole."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from page_parser import Parsed

from jumar.core import lang
from jumar.report import pages, parts, tokens
from jumar.report.card import carried, parse
from jumar.report.page import Page, Section, Stage, Step, Tone, Verdict
from jumar.report.plot import Line, Plot

RUNS = Path(__file__).parent / "runs"
DOCUMENTS = {path.stem: path for path in sorted(RUNS.glob("*.json"))}
FREE = {
    "message", "fix", "told", "path", "subject", "title", "where", "module", "text", "cause", "todo", "doc", "note",
    "wish", "about", "before", "after", "type", "what", "why", "site",
}  # fmt: skip
"""Fields with words of users or of the vendor."""
EVIL = "</script><script>alert(1)</script><b>bold</b> & 'quoted' \"twice\""


def _document(name: str) -> Any:
    return json.loads(DOCUMENTS[name].read_text(encoding="utf-8"))


def _page(document: dict[str, Any]) -> Page:
    return pages.kinds()[document["kind"]](document)


def test_every_kind_of_document_has_a_recorded_one() -> None:
    assert {_document(name)["kind"] for name in DOCUMENTS} == set(pages.kinds())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_page_has_the_frame_and_is_whole(name: str) -> None:
    page = _page(_document(name))
    text = page.html()
    parsed = Parsed(text)
    assert parsed.open == [] and parsed.loads == []
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {"main", "theme", "jumar-page"} <= set(parsed.ids)
    assert all(link.startswith("#") and link[1:] in parsed.ids for link in parsed.links)
    assert "url(" not in text and "@import" not in text and parsed.tags.count("script") == 2
    assert parsed.attributes["html"] == [{"lang": "en"}] and parsed.tags.count("h1") == 1
    assert all(cell.get("scope") == "col" for cell in parsed.attributes.get("th", []))
    assert f'<span class="badge">{page.verdict.word}</span>' in text
    card = parse(carried(text))
    assert (card.kind, card.subject, card.verdict) == (page.kind, page.subject, page.verdict)
    assert card.stages and card.command.startswith(("jumar ", "pytest "))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_page_in_chinese_carries_english(name: str) -> None:
    with lang.chosen(lang.CHINESE):
        page = _page(_document(name))
        text = page.html()
    assert Parsed(text).attributes["html"] == [{"lang": "zh-CN"}] and Parsed(text).open == []
    assert not re.search("[\u4e00-\u9fff]", json.dumps(carried(text), ensure_ascii=False))
    seen = re.sub(r"<(script|style|pre|code)\b.*?</\1>|<table class=.code.*?</table>", "", text, flags=re.S)
    words = re.sub(r"<[^>]*>", "\n", seen)
    assert not re.findall(r"(?:^|[ (])(?:the|of|is|are|with|and not) [a-z]+ .*", words, re.M)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_words_of_users_are_escaped(name: str) -> None:
    text = _page(_spoiled(_document(name))).html()
    assert Parsed(text).open == []
    assert "<script>alert" not in text and "<b>bold" not in text and text.count("<script") == 2
    assert EVIL in json.dumps(carried(text), ensure_ascii=False).replace('\\"', '"') or "&lt;b&gt;bold" in text


def _spoiled(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _spoiled(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_spoiled(inner, key) for inner in value]
    return EVIL if key in FREE and isinstance(value, str) and value else value


@pytest.mark.parametrize("side", tokens.Token._fields)
def test_colours_have_contrast(side: str) -> None:
    """4.5 is what WCAG asks of text; borders of things to operate need 3."""
    colour = {name: getattr(token, side) for name, token in tokens.TOKENS.items()}
    low = {pair: round(_contrast(*map(colour.get, pair)), 2) for pair in tokens.PAIRS}
    assert {pair: value for pair, value in low.items() if value < 4.5} == {}
    for hue in tokens.HUES:
        for ground in ("card", "code"):
            tint = _mixed(colour[hue], colour[ground], tokens.TINT)
            assert min(_contrast(colour[word], tint) for word in (hue, "ink", "soft")) >= 4.5, hue
    assert min(_contrast(colour["edge"], colour[ground]) for ground in tokens.GROUNDS) >= 3


def test_paper_has_contrast() -> None:
    light = {name: token.light for name, token in tokens.TOKENS.items()} | tokens.PAPER
    assert min(_contrast(light[word], light["card"]) for word in tokens.TEXTS) >= 4.5


def test_style_has_no_colour_of_its_own() -> None:
    style = (Path(tokens.__file__).parent / "templates" / "page.css").read_text(encoding="utf-8")
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?![-\w])", style.replace("#theme", "")) == []
    used = set(re.findall(r"var\(--([\w-]+)", style)) - {"c"}
    assert used <= set(tokens.TOKENS), used - set(tokens.TOKENS)
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:600 )?\.(\d+)rem", style)]
    assert sizes and min(float(f"0.{int(size)}") * 16 for size in sizes) >= 13


def _contrast(one: Any, other: Any) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    shares = [part / 255 for part in _rgb(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _mixed(colour: str, ground: str, per_cent: int) -> str:
    both = zip(_rgb(colour), _rgb(ground), strict=True)
    return "#" + "".join(f"{round((a * per_cent + b * (100 - per_cent)) / 100):02x}" for a, b in both)


def test_a_new_page_needs_one_value() -> None:
    page = Page(
        "selftest", "Does it hold?", "here", Verdict.good("all agree"), stages=[Stage.RUNS], facts=[("chip", "910B3")],
        sections=[Section("Programs", parts.table(["program", "seconds"], [("`a`", "1"), ("b", "2")], numbers=[1]))],
        steps=[Step("run it again", "jumar selftest")], points=["`a` is slowest"], made=0,
    )  # fmt: skip
    text = page.html()
    assert "1970-01-01 00:00 UTC" in text and '<pre tabindex="0">jumar selftest</pre>' in text
    assert text.index("What to do next") < text.index("Programs</h2>")
    assert parse(carried(text)).steps == (Step("run it again", "jumar selftest"),)


def test_date_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert Page("x", "t", "s", Verdict(Tone.GOOD, "fine")).card()["made"] == "1970-01-02T00:00Z"


def test_table_sorts_by_keys_and_filters_when_it_is_long() -> None:
    short = parts.table(["a", "b"], [("1", parts.Cell("1.00 ms", 1000))], numbers=[1], name="times")
    assert 'data-key="1000"' in short and 'type="search"' not in short and 'aria-label="times"' in short
    assert 'data-head="b" class="n"' in short
    assert 'type="search"' in parts.table(["a"], [(str(number),) for number in range(parts.FIND + 1)])


def test_chart_has_axes_and_labels() -> None:
    line = Line("loss of A", "green", [(0, 4.0), (1, 3.5), (2, 3.0), (3, float("nan"))])
    text = str(Plot("Loss", "step", "loss", [line], mark=1, marked="here").html())
    assert "↑ loss" in text and "step →" in text and "loss of A" in text and ">here<" in text
    assert "nan" not in text and "<text" not in text
    assert str(Plot("Empty", "x", "y", [Line("none", "grey", [])]).html())


def test_memory_of_a_profile_is_drawn() -> None:
    document = _document("perf")
    document["ranks"][0]["memory_over_time"] = [
        {"us": 1000.0 * at, "allocated_mb": 10.0 * at, "reserved_mb": 64.0} for at in range(4)
    ]
    text = _page(document).html()
    assert "Memory over time" in text and "↑ memory, MB" in text and "time, ms →" in text
    assert Parsed(text).open == [] and "Memory over time" not in _page(_document("perf")).html()


def test_points_that_would_cover_each_other_share_a_label() -> None:
    points = [(0.0, 100.0), (50.0, 50.0), (51.0, 49.0), (52.0, 50.0), (100.0, 0.0)]
    plot = Plot("p", "x", "y", [Line("l", "blue", points)], dots=[f"plan {number}" for number in range(5)])
    labels = re.findall(r'class="dot[^>]*>([^<]+)<', str(plot.html()))
    assert labels == ["1", "2–4", "5"]


@pytest.mark.parametrize("name", ["compare", "perf", "migrate", "parallel"])
def test_the_numbers_of_the_document_are_on_the_page(name: str) -> None:
    wanted = {
        "compare": ["375 times the floor", "first difference", "A cpu.rec", "approximate: none -&gt; tanh"],
        "perf": ["46.49 ms", "(93.6%)", "unfused-optimizer: AdamW", "train.py:70"],
        "migrate": ["<b>21</b><span>rewritten</span>", "<mark>cuda</mark>", "torch_npu"],
        "parallel": ["45.2 of 58.0 GiB", "58.0 GiB usable", "dp8 shard: 1,402 ms, 45.2 GiB"],
    }[name]
    text = _page(_document(name)).html()
    assert [words for words in wanted if words not in text] == []
