"""Pages may run their one script and nothing else, also pages that somebody else wrote in our name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jumar.app import report
from jumar.app.report import ReportRequest
from jumar.core.printable import printable
from jumar.report import pages, parts, policy

HERE = Path(__file__).parent
TEMPLATES = sorted((Path(str(policy.__file__)).parent / "templates").iterdir())
RUNS = sorted((HERE / "runs").glob("*.json"))
BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip
EVIL = "</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>"
HOSTILE = """<!DOCTYPE html><html><head><meta name="generator" content="jumar 0.1.0">
<META/http-equiv="refresh" content="0;url=other.html"><meta name="viewport" content="x" http-equiv="refresh">
<!-- <head> --><script>document.documentElement.id = "owned"</script></head>
<body onload="document.documentElement.id = 'owned'"><img src="nowhere.png" onerror="document.title='owned'">
<script type="application/json" id="jumar-page">%s</script></body></html>"""


class Seen(HTMLParser):
    """Elements in their order, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))


def _elements(text: str) -> list[tuple[str, dict[str, str]]]:
    seen = Seen()
    seen.feed(text)
    return seen.elements


def _page(run: Path) -> str:
    document = json.loads(run.read_bytes())
    return pages.kinds()[document["kind"]](document).html()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.stem)
def test_every_page_has_the_policy_first_and_its_script_fits(run: Path) -> None:
    text = _page(run)
    names = [(tag, attributes.get("http-equiv")) for tag, attributes in _elements(text)]
    assert names[:3] == [("html", None), ("head", None), ("meta", "Content-Security-Policy")]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.stem)
def test_no_page_needs_what_the_policy_forbids(run: Path) -> None:
    for tag, attributes in _elements(_page(run)):
        assert tag not in ("img", "iframe", "object", "embed", "link", "base", "video", "audio", "source"), tag
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#"), attributes


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_handlers_or_addresses(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"""<[^>]*\son[a-z]+\s*=\s*["']""", text)
    assert not re.search(r"(?i)javascript:|@import|url\(|https?://|\|\s*safe\b|innerHTML|eval\(|new Function", text)
    assert printable(text) == text, "the page would not be what the digest is of"


def test_data_becomes_neither_markup_nor_link() -> None:
    document = json.loads((HERE / "runs" / "analyze.json").read_bytes())
    changed = json.loads(json.dumps(document).replace("train.py", EVIL.replace('"', "'")))
    text = pages.kinds()[document["kind"]](changed).html()
    elements = _elements(text)
    assert "javascript:alert" in text, "the name is shown"
    assert not [tag for tag, _ in elements if tag == "img"]
    assert all(attributes.get("href", "#").startswith("#") for _, attributes in elements)


def test_code_of_others_is_escaped() -> None:
    assert str(parts.code(f"`{EVIL}`")).count("<") == 2


def _site(folder: Path) -> Path:
    """A site with a page that was planted in the project."""
    runs = folder / "runs"
    runs.mkdir()
    card = json.loads(re.findall(r'id="jumar-page">(.*?)</script>', _page(RUNS[0]), re.S)[0])
    (runs / "evil.html").write_text(HOSTILE % json.dumps({**card, "subject": "planted"}))
    (runs / "own.html").write_text(_page(RUNS[1]), encoding="utf-8")
    report.write(report.report(ReportRequest(folder=runs, out=folder / "site")))
    return folder / "site"


def test_a_planted_page_is_bound(tmp_path: Path) -> None:
    site = _site(tmp_path)
    text = next(site.glob("*planted*.html")).read_text()
    assert text.startswith(f"<!DOCTYPE html>\n{policy.meta()}\n")
    equivs = [attributes["http-equiv"] for _, attributes in _elements(text) if "http-equiv" in attributes]
    assert equivs == ["Content-Security-Policy"]


def test_a_page_of_ours_is_bound_once(tmp_path: Path) -> None:
    for path in _site(tmp_path).glob("*.html"):
        assert path.read_text(encoding="utf-8").count("Content-Security-Policy") == 1, path.name


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="needs a browser: chromium or google-chrome")
def test_a_browser_runs_our_script_and_no_other(tmp_path: Path) -> None:
    site = _site(tmp_path)
    for path in sorted(site.glob("*.html")):
        words = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--dump-dom"]
        done = subprocess.run([*words, path.as_uri()], capture_output=True, text=True, check=True, timeout=300)
        is_planted = "planted" in path.name
        assert ("Content Security Policy" in done.stderr) == is_planted, (path.name, done.stderr)
        assert ("has-js" in done.stdout) == (not is_planted), path.name
        assert 'id="owned"' not in done.stdout and "<title>owned" not in done.stdout
