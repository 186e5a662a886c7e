"""Pages in another language: words are exchanged block by block, everything else stays byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jumar.core import lang, prose

DOCS = Path(__file__).parents[2] / "docs"
PAGE = """\
# PT999 some-rule

<!-- written by a tool -->
Finds `x`
in 3 files. See [the guide](../a-b.md#there).

- an item
  over two lines
- `only code`, [name](x.md)

```sh before
# a comment in code
- no item
```

    code(with, an) - indent

| state | meaning |
| --- | --- |
| `a \\| b` | works with 2.7.1 |
"""


def test_all_parts_together_are_the_page() -> None:
    for path in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        page = path.read_text(encoding="utf-8")
        assert "".join(block.mark + block.text for block in prose.blocks(page)) == page, path


def test_only_words_outside_code_are_said() -> None:
    assert [*prose.said_by(PAGE)] == [
        "Finds `x` in 3 files. See [the guide](../a-b.md#there).",
        "an item over two lines",
        "state",
        "meaning",
        "works with 2.7.1",
    ]


def test_words_are_exchanged_and_the_rest_stays() -> None:
    told = prose.retold(PAGE, {"an item over two lines": "一项", "meaning": "含义"}.get)
    assert told == PAGE.replace("an item\n  over two lines", "一项").replace("meaning", "含义")


def test_numbers_are_places_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "{0} of {1} since {2}, `{0}` and `7`, float32"
    assert prose.numbered("3 of 4 since 2026-11-17, `{0}` and `7`, float32") == words
    monkeypatch.setattr(prose, "_catalogue", lambda: {words: "{2} 起 {1} 个中有 {0} 个，`{0}` 和 `7`，float32"})
    said = prose.chinese("30 of 40 since 2027-01-02, `{0}` and `7`, float32")
    assert said == "2027-01-02 起 40 个中有 30 个，`{0}` 和 `7`，float32"


def test_a_page_of_a_rule_is_chinese_outside_its_code() -> None:
    page = (DOCS / "rules" / "python" / "cuda-in-text.md").read_text(encoding="utf-8")
    with lang.chosen(lang.CHINESE):
        told = prose.shown(page)
    code = re.compile(r"^```.*?^```$", re.M | re.S)
    assert code.findall(told) == code.findall(page)
    assert told.startswith("# PT108 cuda-in-text\n\n字符串中的 `torch.cuda` 名称。")
    assert "](default-tensor-type.md)" in told
    assert not re.search(r"^#+ [A-Z][a-z]+", code.sub("", told), re.M)
    with lang.chosen(lang.ENGLISH):
        assert prose.shown(page) == page
