"""`jumar.toml`: found up the tree, checked with line numbers, overruled by the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.migrate import config
from jumar.migrate.settings import Settings, Style


def _load(folder: Path, text: str, **given: Any) -> Settings:
    (folder / "jumar.toml").write_text(text)
    return config.settings(config.load(config.find(folder)), given)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert config.settings(config.load(None), {}) == Settings()


def test_nearest_file_up_the_tree_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "jumar.toml").write_text("")
    assert config.find(inner / "x.py") == tmp_path / "jumar.toml"
    (tmp_path / "a" / "jumar.toml").write_text("")
    assert config.find(inner) == tmp_path / "a" / "jumar.toml"


def test_values_of_the_file(tmp_path: Path) -> None:
    text = """
[migrate]
to = "agnostic"
torch = "2.7"
chip = "Ascend310p3"
unsafe = true
skip = ["cuda-device-string", "PT102"]
rules = []
[migrate.rows.torch_cuda]
"torch.cuda.thing" = "torch.npu.thing"
"""
    found = _load(tmp_path, text)
    assert (found.to, found.torch, found.chip, found.unsafe) == (Style.AGNOSTIC, "2.7.1", "310P3", True)
    assert found.skip == {"PT101", "PT102"}
    assert found.rows == {"torch_cuda": {"torch.cuda.thing": "torch.npu.thing"}}


def test_command_line_wins(tmp_path: Path) -> None:
    found = _load(tmp_path, '[migrate]\nto = "agnostic"\nchip = "310P3"\n', to="import", chip=None)
    assert (found.to, found.chip) == (Style.IMPORT, "310P3")


def test_own_rules_are_relative_to_the_file_and_can_be_named(tmp_path: Path, trusted: Callable[[Path], None]) -> None:
    (tmp_path / "mine.py").write_text(
        "from jumar.migrate.rule import Rule\nRULE = Rule('XX901', 'our-launcher', 'ours', ('launch',))\n"
    )
    text = '[migrate]\nrules = ["mine.py"]\nonly = ["our-launcher"]\n'
    (tmp_path / "jumar.toml").write_text(text)
    trusted(tmp_path)
    found = _load(tmp_path, text)
    assert [file.path for file in found.rule_files] == [str(tmp_path / "mine.py")]
    assert found.only == {"XX901"}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[migrate]\n\nchop = 1\n", "{}:3: unknown key `chop` in `[migrate]`", "did you mean `chip`?"),
        ("[migrate]\nzzz = 1\n", "{}:2: unknown key `zzz` in `[migrate]`", "known keys: `to`, "),
        ('[migrate]\nunsafe = "yes"\n', "{}:2: `unsafe` must be `true` or `false`", None),
        ("[migrate]\nonly = [1]\n", "{}:2: `only` must be a list of strings", None),
        ("[migrate]\njobs = true\n", "{}:2: `jobs` must be a number", None),
        ("migrate = 3\n", "{}:1: `migrate` must be a table", "write `[migrate]` on a line of its own"),
        ('[migrate]\nchip = "911"\n', "{}:2: no such chip: `911`", "did you mean `910B1`?"),
        ('[migrate]\nto = "x"\n', "{}:2: no such style: `x`", "known styles: `npu`, `agnostic`, `import`"),
        ('[migrate]\ntorch = "9"\n', "{}:2: no torch_npu release for torch `9`", "known releases: "),
        ('[migrate]\nskip = ["??"]\n', "{}:2: no such rule: `??`", "`jumar migrate --list` lists the rules"),
        (
            "[migrate.rows]\ntorch_cuda = 1\n",
            "{}:2: `rows.torch_cuda` must be a table of strings",
            "write `[migrate.rows.torch_cuda]`",
        ),
        ("[migrate.rows.torch_cud]\n", "{}:1: no such table: `torch_cud`", "did you mean `torch_cuda`?"),
        ("[migrate\n", "`{}` is not valid TOML: ", "correct the file and try again"),
    ],
)
def test_mistakes_name_the_line(tmp_path: Path, text: str, message: str, hint: str | None) -> None:
    with pytest.raises(UserError) as raised:
        _load(tmp_path, text)
    assert raised.value.message.startswith(message.format(tmp_path / "jumar.toml"))
    assert (raised.value.hint or "").startswith(hint or "")


def test_broken_toml_names_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"at line 2, column 6"):
        _load(tmp_path, "[migrate]\nto = \n")


def test_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read"):
        config.load(tmp_path)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "jumar.toml").write_bytes(b"\xff")
    with pytest.raises(UserError, match="is not valid TOML"):
        config.load(tmp_path / "jumar.toml")


def test_the_styles_of_many_cards(tmp_path: Path) -> None:
    assert not _load(tmp_path, "").multi_card
    plain = _load(tmp_path, "[migrate]\nmulti_card = true\n")
    assert (plain.multi_card, plain.sharded) == (True, False)
    sharded = _load(tmp_path, "[migrate]\nmulti_card = true\nsharded = true\n")
    assert (sharded.multi_card, sharded.sharded) == (True, True)
    given = _load(tmp_path, "[migrate]\nsharded = true\n", multi_card="ddp")
    assert (given.multi_card, given.sharded) == (True, False)
    assert _load(tmp_path, "", multi_card="fsdp", torch="2.6").sharded


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"multi_card": "fsp"}, "`--multi-card`: no such style: `fsp`"),
        (
            {"multi_card": "fsdp", "torch": "2.5.1"},
            "`--multi-card`: `fully_shard` (FSDP2) needs torch 2.6 or newer, the target has 2.5.1",
        ),
    ],
)
def test_cards_that_cannot_be_had(tmp_path: Path, given: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        _load(tmp_path, "", **given)
    assert caught.value.message == message
