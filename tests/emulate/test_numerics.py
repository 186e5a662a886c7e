"""`--numerics card`: the documented arithmetic of the chips, judged by NumPy; by default results stay the CPU's."""

from __future__ import annotations

import pytest
from running import Run

from jumar.core.errors import UserError
from jumar.emulate import command
from jumar.emulate.numerics import mode
from jumar.tables import chips, numerics
from jumar.tables.numerics import Formats
from program_files import program_text


def test_a2(run: Run) -> None:
    """HF32, one rounding of half precision, open orders of sums."""
    run(program_text(__file__, "numerics_a2"), JUMAR_NUMERICS="card")


def test_910(run: Run) -> None:
    """Products in float16, saturation and the overflow flag."""
    run(program_text(__file__, "numerics_910"), JUMAR_NUMERICS="card", JUMAR_SOC="Ascend910A")


@pytest.mark.slow
def test_950(run: Run) -> None:
    """Subnormal numbers."""
    run(program_text(__file__, "numerics_950"), JUMAR_NUMERICS="card", JUMAR_SOC="Ascend950DT_9571")


@pytest.mark.slow
def test_a_seed_draws_the_order(run: Run) -> None:
    program = program_text(__file__, "numerics_seed")
    first, again, other = (run(program, JUMAR_NUMERICS=f"card:{seed}").stdout for seed in (3, 3, 4))
    assert first == again != other
    assert len(set(first.splitlines())) == 2
    plain = run(program).stdout
    assert len(set(plain.splitlines())) == 1


@pytest.mark.parametrize(
    ("family", "options", "expected"),
    [
        ("A2", {}, Formats("hf32", "float32")),
        ("A3", {"ALLOW_CONV_HF32": "disable"}, Formats("float32", "float32")),
        ("950", {"ALLOW_MATMUL_HF32": "enable"}, Formats("hf32", "hf32")),
        ("A2", {"ACL_PRECISION_MODE": "allow_fp32_to_fp16"}, Formats("hf32", "float16")),
        ("A2", {"CUBE_MATH_TYPE": "3"}, Formats("hf32", "hf32")),
        ("A2", {"CUBE_MATH_TYPE": "0", "ALLOW_MATMUL_HF32": "enable"}, Formats("hf32", "float32")),
        ("910", {}, Formats("float16", "float16")),
        ("310P", {"ALLOW_CONV_HF32": "disable"}, Formats("float16", "float16")),
        ("910", {"ACL_PRECISION_MODE": "must_keep_origin_dtype"}, Formats("float32", "float32")),
        ("310B", {}, Formats("float32", "float32")),
    ],
)
def test_formats_of_products(family: str, options: dict[str, str], expected: Formats) -> None:
    assert numerics.formats(family, lambda name: options.get(name, "")) == expected


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("crad", "`--numerics crad` is not known", "did you mean `card`?"),
        ("exact", "`--numerics exact` is not known", "write `card`, `card:SEED` or `cpu`"),
        ("card:x", "`x` is not a seed", "write `card`, `card:SEED` with a whole number, or `cpu`"),
    ],
)
def test_unknown_modes_are_named(text: str, says: str, hint: str) -> None:
    with pytest.raises(UserError) as error:
        mode.check(text)
    assert (str(error.value), error.value.hint) == (says, hint)


def test_a_chip_without_rules_is_named() -> None:
    with pytest.raises(UserError, match="nothing is known about the arithmetic of `Ascend310`"):
        mode.read({"JUMAR_NUMERICS": "card", "JUMAR_SOC": "Ascend310"})


def test_one_line_tells_what_is_on(emulator: None) -> None:
    request = command.RunRequest(numerics="card:7", soc="910B3")
    built = command.build(["-c", "pass"], request, {"JUMAR_EMULATE": "1"})
    assert built.variables["JUMAR_NUMERICS"] == "card:7"
    assert built.where.splitlines()[-1] == (
        "jumar: numerics of the card, seed 7: HF32 in float32 convolutions; half precision products summed in float32;"
        " open order of sums"
    )
    found = mode.read({"JUMAR_NUMERICS": "card", "JUMAR_SOC": "Ascend910A"})
    assert found is not None
    assert mode.told(found, {}).endswith("inf saturates and nan is 0")
    a2 = mode.Mode("A2", 0)
    assert mode.told(a2, {"INF_NAN_MODE_FORCE_DISABLE": "1"}).count("saturates") == 1
    assert mode.read({}) is None


def test_every_rule_has_sources_and_every_family_rules() -> None:
    families = set(chips.chips().values())
    assert {family for rule in numerics.rules() for family in rule.chips} == families
    for rule in numerics.rules():
        assert rule.sources, rule.name
        for source in rule.sources:
            assert source.address.startswith("https://") and source.quote and source.title, rule.name
            assert len(source.date) == 10, rule.name
    assert len({rule.name for rule in numerics.rules()}) == len(numerics.rules())
    assert all(says and found for says, found in numerics.unknown())


def test_operators_of_a_family() -> None:
    kinds = {family: {kind for kind, _, _ in numerics.operators(family)} for family in ("910", "A2", "950")}
    assert "flush" in kinds["950"] and "flush" not in kinds["A2"] | kinds["910"]
    assert {"order:index_add", "order:convolution"} <= kinds["A2"] and "order:scatter_add" not in kinds["A2"]
    assert not any(kind.startswith("order") for kind in kinds["910"])
