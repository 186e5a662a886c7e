"""Answers filled from the line's own values: they are right for logs that nobody listed."""

from __future__ import annotations

import pytest

from jumar.machine.explain import log, symbols, values
from jumar.machine.explain.result import Explanation, Frame
from jumar.report import explain as report
from jumar.tables import errors
from jumar.tables.errors import Certainty, Role


def _of(text: str) -> Explanation:
    return log.explain_text(text.splitlines())


def _said(text: str) -> str:
    return "\n".join(report.text(_of(text)))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).",
            ("28 (Total number of attention heads)", "8 (tensor parallel size)", "divides 28: 1, 2, 4, 7, 14, 28"),
        ),
        ("AssertionError: 25 is not divisible by 4", ("error: 25 cannot be split over 4:", "divides 25: 1, 5, 25")),
        (
            "ModuleNotFoundError: No module named 'xformers'",
            ("no form for NPUs: xformers", "scaled_dot_product_attention"),
        ),
        ("ImportError: please install bitsandbytes", ("no form for NPUs: bitsandbytes", "msModelSlim")),
        (
            "ImportError: cannot import name 'frob' from 'fruit.core' (/usr/lib/fruit/core.py)",
            ("the installed `fruit` has no `frob` in `fruit.core`",),
        ),
        (
            "TypeError: Pear.peel() got an unexpected keyword argument 'knife'",
            ("`Pear.peel` does not know the argument `knife`",),
        ),
        ("AssertionError: bananas need at least two cards", ("stops at a check of its own: bananas need",)),
        ("NotImplementedError: peeling with pipelines", ("does not implement this: peeling with pipelines",)),
        ("  Value error, fruit must be ripe [type=value_error, input_value=1]", ("a setting is refused: fruit must",)),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/a/pear.json'", ("was given: /a/pear.json",)),
        ("KeyError: 'pear'", ("has no entry `pear`",)),
        ("OSError: [Errno 28] No space left on device: '/a/pear'", ("program writes: /a/pear",)),
        ("OSError: [Errno 28] No space left on device", ("error: no space is left where the program writes\n",)),
        ("RuntimeError: NPU out of memory. Tried to allocate", ("why: the memory is used up",)),
        ("NPU out of memory. Tried to allocate 2.00 GiB", ("why: asked 2.00 GiB: the memory is used up",)),
        ("loc(a): error: 'pear.peel' op is too ripe", ("cannot compile `pear.peel` of the kernel: is too ripe",)),
        ("ImportError: Please install pear>=2.0 to peel", ("needs pear >=2.0, and another", "pip install 'pear>=2.0'")),
        ("KeyError: 'model.layers.0.pear'", ("name their weights alike: `model.layers.0.pear`",)),
        ("E50031: [PID: 7] 2025-01-01-00:00:00.000.001 The pear is not ripe yet.", ("The pear is not ripe yet",)),
    ],
)
def test_answer_holds_the_values_of_the_line(line: str, words: tuple[str, ...]) -> None:
    said = _said(line)
    assert all(word in said for word in words), said
    assert "{" not in said


@pytest.mark.parametrize(
    ("symbol", "words"),
    [
        ("_ZN7c10_npu7GetPearEv", ("another torch_npu", "`c10_npu::GetPear`")),
        ("_ZN3c104PearC1Ev", ("another torch:", "`c10::Pear::Pear`")),
        ("_ZN3atb10CreatePearEv", ("of ATB (nnal)",)),
        ("aclrtPeelPear", ("of CANN",)),
        ("halPeelPear", ("of the NPU driver",)),
        ("PyPear_Peel", ("another Python",)),
        ("cudaPeelPear", ("built for CUDA",)),
        ("ffi_pear", ("another copy of a system library",)),
        ("_ZNSt4pearEv", ("a newer C++ library",)),
        ("pear_peel", ("which no loaded library has",)),
    ],
)
def test_owner_of_a_missing_symbol_is_named(symbol: str, words: tuple[str, ...]) -> None:
    said = _said(f"ImportError: /opt/x/libfruit.so: undefined symbol: {symbol}")
    assert "`libfruit.so`" in said.splitlines()[0]
    assert all(word in said.splitlines()[0] for word in words), said


def test_symbols_are_read_as_cpp_names() -> None:
    assert symbols.readable("_ZN3Mki2DlC1ERKNSt7__cxx11") == "Mki::Dl::Dl"
    assert symbols.readable("_ZN3PieD1Ev") == "Pie::~Pie"
    assert symbols.readable("_Z4peelv") == "peel"
    assert symbols.readable("_Zwhat") == "_Zwhat"
    assert symbols.readable("peel") == "peel"


def test_owner_of_an_exception_is_the_package_of_the_deepest_frame() -> None:
    own = Frame("/home/me/train.py", 1, "", True)
    library = Frame("/usr/lib/python3/site-packages/fruit/core.py", 7, "peel", False)
    assert values.owner((own, library)) == "`fruit`"
    assert values.owner((own,)) == values.owner(()) == "the program"
    assert values.divisors(0) == ""


def test_bare_exceptions_are_read_from_their_traceback() -> None:
    frame = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3/site-packages/fruit/core.py", line 7, in peel\n'
    )
    assert "`fruit` stops at a check of its own: `assert ripe`" in _said(f"{frame}    assert ripe\nAssertionError")
    marked = f"{frame}    assert ripe\n           ^^^^\nAssertionError"
    assert "check of its own: `assert ripe`" in _said(marked)
    assert "no implementation for this case: `peel`" in _said(
        f"{frame}    raise NotImplementedError\nNotImplementedError"
    )


def test_different_values_are_different_causes() -> None:
    found = _of("KeyError: 'pear'\nKeyError: 'fig'\nKeyError: 'pear'")
    assert [(cause.signature.what, cause.times) for cause in found.causes] == [
        ("a dictionary has no entry `pear`", 2),
        ("a dictionary has no entry `fig`", 1),
    ]


def test_a_line_nearby_decides() -> None:
    frame = '  File "/usr/lib/python3/site-packages/transformers/models/auto/configuration_auto.py", line 7, in get\n'
    assert _of(frame + "KeyError: 'pear'").causes[0].signature.id == "MODEL_TYPE_KEY"
    assert _of("KeyError: 'pear'").causes[0].signature.id == "KEY_ERROR"


def test_specific_row_beats_an_earlier_broad_one() -> None:
    broad = "FileNotFoundError: [Errno 2] No such file or directory: '/etc/pear'"
    named = "FileNotFoundError: obs://b/pear\nMS_SERVING: Received message larger than max"
    assert _of(f"{broad}\n{named}").causes[0].signature.id == "MS_SERVING_SIZE"


def test_failure_that_the_program_outlived_stands_back() -> None:
    outlived = "ModuleNotFoundError: No module named 'pear'\nINFO step 1 loss 2.0\nINFO step 2 loss 1.9\n"
    assert _of(f"{outlived}ValueError: the fig must not be red").causes[0].signature.id == "VALUE_REFUSED"


def test_two_reasons_of_one_weight_are_both_named() -> None:
    text = "ModuleNotFoundError: No module named 'pear'\n" + "bye\n" * 9 + "numpy.ndarray size changed, may indicate"
    found = _of(text)
    assert found.rival is not None and found.causes[0].signature.certainty is Certainty.POSSIBLE
    said = _said(text)
    assert said.startswith("may be: ") and "\nor: a package was compiled for another numpy (-:11)\n" in said
    assert "the log states both" in said


def test_last_words_of_a_chain_of_exceptions_lead() -> None:
    text = """Traceback (most recent call last):
  File "/a/x.py", line 1, in peel
RuntimeError: the pear is not ripe

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/a/y.py", line 2, in eat
RuntimeError: lunch needs to wait, the fruit is not ready
"""
    assert "lunch needs to wait" in _of(text).causes[0].signature.what


def test_own_words_stand_behind_what_the_table_knows() -> None:
    found = _of("ValueError: the pear must be green\nRuntimeError: NPU out of memory. Tried to allocate 2.00 GiB")
    assert [cause.signature.role for cause in found.causes] == [Role.ROOT, Role.SAID]
    assert found.says_more
    quoted = _of("ValueError: the pear must be green")
    assert quoted.is_known and not quoted.says_more


def test_mere_quotes_count_only_on_their_own() -> None:
    line = "[ERROR] the pear may be eaten but is not ripe today"
    assert _of(line).causes[0].signature.id == "LOG_SAID"
    assert "may be: the log's own words: the pear" in _said(line)
    assert "LOG_SAID" not in {cause.signature.id for cause in _of(f"{line}\nKeyError: 'pear'").causes}


def test_fields_of_forms_are_groups_or_computed() -> None:
    computed = {"divisors", "package", "owner", "symbol", "library", "source", "function"}
    for row in errors.signatures().values():
        names = set(errors.pattern(row).groupindex) | computed
        for text in (row.what, row.why, *row.do):
            assert set(errors.fields(text)) <= names or not row.is_form, row.id


def test_cause_of_software_that_the_log_does_not_speak_of_is_a_guess() -> None:
    line = "Unsupported statement 'Try'"
    assert _of(line).causes[0].signature.certainty is Certainty.STATED
    assert _of(f"mindspore 2.3\n{line}").causes[0].signature.certainty is Certainty.STATED
    assert _of(f"import torch\n{line}").causes[0].signature.certainty is Certainty.POSSIBLE
    assert set(errors.families()) <= {row.category for row in errors.signatures().values()}
