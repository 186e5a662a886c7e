"""Every page in a real browser, wide and narrow, light and dark: nothing sticks out, is small, faint or covered.

Machines draw letters differently, so pictures are not compared; facts of the layout are. The pictures are kept in the
folder of the test (`pytest --basetemp DIR`) for people to look at.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.app import report
from jumar.app.report import ReportRequest

HERE = Path(__file__).parent
CONTROL = "control.html"
FAULTS = """<!DOCTYPE html><html><body style="background:#fff;color:#000"><div style="width:1500px">wide</div>
<p style="font-size:9px">small</p>
<p style="width:9px;overflow-wrap:anywhere">broken</p><p style="color:#999">faint</p><button id="theme">theme</button>
<div class="chart" style="height:300px"><span style="position:absolute;left:9px;top:200px">one</span>
<span style="position:absolute;left:15px;top:204px">two</span></div></body></html>"""
"""A page with each fault, to see that the measure finds them."""
WIDTHS = {"wide": 1280, "narrow": 400}
THEMES = ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), "")
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BROWSER, reason=f"needs a browser: one of {', '.join(BROWSERS)}"),
]


def _browse(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [BROWSER, *_FLAGS, f"--user-data-dir={folder / 'profile'}", *words],
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the recorded runs: every kind of page, the index too, and a project with findings in every state."""
    import sample

    from jumar.migrate.rule import all_rules
    from jumar.report.pages import migrate

    folder = tmp_path_factory.mktemp("pages")
    runs = folder / "runs"
    shutil.copytree(HERE / "runs", runs)
    rules = {unit.rule.id: unit for unit in all_rules()}
    (runs / "states.html").write_text(migrate.of_result(sample.result("every-state"), rules).html(), encoding="utf-8")
    report.write(report.report(ReportRequest(folder=runs, out=folder / "site")))
    (folder / "site" / CONTROL).write_text(FAULTS, encoding="utf-8")
    return folder / "site"


def _pages(site: Path) -> list[str]:
    return sorted(path.name for path in site.glob("*.html") if path.name != CONTROL)


@pytest.fixture(scope="module")
def facts(site: Path) -> dict[str, dict[str, Any]]:
    """What a browser says about each page; all pages stand in frames of one page, so that it starts once."""
    names = _pages(site)
    frames = [
        {"page": name, "width": width, "theme": theme, "id": f"{name} {kind} {theme}"}
        for name in (CONTROL, *names)
        for kind, width in WIDTHS.items()
        for theme in THEMES
    ]
    script = (HERE / "measure.js").read_text(encoding="utf-8")
    harness = site / "harness.htm"
    harness.write_text(
        f"<!DOCTYPE html><meta charset=utf-8><body><script>{script}</script><script>\n"
        f"var todo = {json.dumps(frames)}, out = {{}}, left = todo.length;\n"
        "todo.forEach(function (one) { var f = document.createElement('iframe');"
        "f.style.cssText = 'border:0;height:900px;width:' + one.width + 'px';"
        "f.onload = function () { f.contentDocument.documentElement.dataset.theme = one.theme;"
        "var r = measure(f); if (one.theme === 'light') r.used = use(f); out[one.id] = r;"
        "f.remove(); left -= 1; if (!left) { var p = document.createElement('pre'); p.id = 'facts';"
        "p.textContent = encodeURIComponent(JSON.stringify(out)); document.body.appendChild(p); } };"
        "f.src = one.page; document.body.appendChild(f); });</script>",
        encoding="utf-8",
    )
    dumped = _browse(site.parent, "--virtual-time-budget=60000", "--dump-dom", harness.as_uri())
    harness.unlink()
    from urllib.parse import unquote

    told = re.search(r'<pre id="facts">(.*?)</pre>', dumped)
    assert told, dumped[-2000:]
    found: dict[str, dict[str, Any]] = json.loads(unquote(told[1]))
    assert len(found) == len(frames)
    return found


@pytest.mark.parametrize("fault", ["overflow", "wide", "small", "faint", "overlaps", "broken"])
def test_no_page_has_faults(facts: dict[str, dict[str, Any]], fault: str) -> None:
    found = {where: told[fault] for where, told in facts.items() if told[fault]}
    assert {where for where in found if where.startswith(CONTROL)}, "the measure is blind"
    assert {where: told for where, told in found.items() if not where.startswith(CONTROL)} == {}


def test_layout_is_as_it_was(facts: dict[str, dict[str, Any]], golden: Callable[[str, str], None]) -> None:
    """Headings, tables and charts of each page."""
    shown = {
        name.split()[0]: {key: told[key] for key in ("headings", "tables", "charts")}
        for name, told in facts.items()
        if name.endswith("wide light") and not name.startswith(CONTROL)
    }
    golden("report/layout.json", json.dumps(shown, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    for name, told in facts.items():
        assert name.startswith(CONTROL) or told["headings"] == shown[name.split()[0]]["headings"], name


def test_tables_sort_filter_and_the_theme_changes(facts: dict[str, dict[str, Any]]) -> None:
    for name, told in facts.items():
        if "used" not in told or name.startswith(CONTROL):
            continue
        used = told["used"]
        assert sorted(used["themes"]) == ["dark", "light", "system"], name
        if told["tables"]:
            assert told["sorted"] >= told["tables"], name
        if "sort" in used:
            assert used["focus"] and used["kept"] and {used["sort"], used["again"]} == {"ascending", "descending"}, name
        assert used.get("hidden", 0) == 0, name


def test_pictures_and_print(site: Path) -> None:
    """Every page as a picture, and on paper; empty ones would be a page that does not draw."""
    shots = site.parent / "shots"
    shots.mkdir()
    for path in (site / name for name in _pages(site)):
        for kind, width in WIDTHS.items():
            for theme, scheme in (("light", "1"), ("dark", "0")):
                name = shots / f"{path.stem}-{kind}-{theme}.png"
                _browse(site.parent, f"--window-size={width},1600", f"--blink-settings=preferredColorScheme={scheme}",
                        f"--screenshot={name}", path.as_uri())  # fmt: skip
                assert name.stat().st_size > 5000, name
        paper = shots / f"{path.stem}.pdf"
        _browse(site.parent, "--no-pdf-header-footer", f"--print-to-pdf={paper}", path.as_uri())
        assert paper.read_bytes().startswith(b"%PDF") and paper.stat().st_size > 5000, paper
