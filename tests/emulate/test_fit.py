"""Implementations fitted to the schemas of other releases of torch_npu."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jumar.emulate.torch_ops.fit import fitted


def _schema(arguments: dict[str, Any], returns: int) -> Any:
    items = [
        SimpleNamespace(name=name, default_value=value, has_default_value=lambda value=value: value is not None)
        for name, value in arguments.items()
    ]
    return SimpleNamespace(arguments=items, returns=[None] * returns)


def _refuse(what: str) -> Exception:
    return NotImplementedError(f"op {what} is not emulated")


def _newest(x: int, scale: int, added: int = 5, mode: int = 0) -> tuple[int, int, int]:
    return x, scale, added * 10 + mode


def test_fewer_arguments_and_results() -> None:
    call = fitted(_newest, _schema({"x": None, "scale": None}, 2), _refuse)
    assert call(1, 2) == (1, 2)


def test_an_argument_that_a_newer_release_put_in_front() -> None:
    call = fitted(_newest, _schema({"x": None, "scale": None, "mode": 0}, 3), _refuse)
    assert call(1, 2, mode=3) == (1, 2, 53)
    assert call(1, 2, 3) == (1, 2, 53)


def test_other_names_in_the_same_order() -> None:
    call = fitted(_newest, _schema({"input": None, "s": None, "plus": 5, "mode": 0}, 3), _refuse)
    assert call(1, 2, 6, mode=1) == (1, 2, 61)


def test_an_unknown_argument_is_refused_unless_it_has_its_default() -> None:
    call = fitted(_newest, _schema({"x": None, "scale": None, "sink": None}, 3), _refuse)
    assert call(1, 2, sink=None) == (1, 2, 50)
    with pytest.raises(NotImplementedError, match="op with `sink` is not emulated"):
        call(1, 2, sink=4)


def test_what_nobody_said_is_what_the_schema_means() -> None:
    call = fitted(_newest, _schema({"x": None, "scale": None, "added": 7, "mode": 2}, 3), _refuse)
    assert call(1, 2) == (1, 2, 72)
    assert call(1, 2, 5) == (1, 2, 52)
    assert call(1, 2, mode=0) == (1, 2, 70)


def test_a_default_that_differs_only_as_a_list_and_a_tuple_is_the_same() -> None:
    def given(x: int, sizes: tuple[int, ...] = (1, 2)) -> tuple[int, ...]:
        return sizes

    assert fitted(given, _schema({"x": None, "sizes": [1, 2]}, 2), _refuse)(0) == (1, 2)


def test_one_result_is_not_a_tuple() -> None:
    assert fitted(_newest, _schema({"x": None, "scale": None}, 1), _refuse)(1, 2) == 1


def test_more_results_than_there_are_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="op with 4 results"):
        fitted(_newest, _schema({"x": None, "scale": None}, 4), _refuse)(1, 2)
