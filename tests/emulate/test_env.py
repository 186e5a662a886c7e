"""The environment of the emulated machine is a value."""

from __future__ import annotations

import pytest

from jumar.core.errors import UserError
from jumar.emulate import env


def test_defaults_are_an_8_card_910b3() -> None:
    values = env.environment()
    assert (values["JUMAR_SOC"], values["JUMAR_CARDS"]) == ("Ascend910B3", "8")
    assert values["TASK_QUEUE_ENABLE"] == "0"
    assert values["LD_LIBRARY_PATH"].split(":")[0] == str(env.library_dir())
    assert "JUMAR_MEMORY" not in values


def test_library_path_of_the_caller_is_kept_once() -> None:
    first = env.environment(base={"LD_LIBRARY_PATH": "/opt/a:/opt/b"})
    second = env.environment(base=first)
    assert second["LD_LIBRARY_PATH"].split(":")[1:] == ["/opt/a", "/opt/b"]


def test_unknown_soc_offers_the_nearest_names() -> None:
    with pytest.raises(UserError) as caught:
        env.environment(soc="Ascend910B33")
    assert caught.value.message == "unknown SoC name: `Ascend910B33`"
    assert "`Ascend910B3`" in str(caught.value.hint)


@pytest.mark.parametrize("memory", ["lots", "12T", "-1G"])
def test_memory_must_be_a_size(memory: str) -> None:
    with pytest.raises(UserError):
        env.environment(memory=memory)


@pytest.mark.parametrize("cards", [0, 65])
def test_number_of_cards_has_limits(cards: int) -> None:
    with pytest.raises(UserError):
        env.environment(cards=cards)
