"""Rows with several reasons answer with the one that the line names; codes stand behind the words beside them."""

from __future__ import annotations

import pytest

from jumar.machine.explain import log
from jumar.machine.explain.result import Cause, Explanation
from jumar.tables import error_cases, errors
from jumar.tables.errors import Certainty


def _of(text: str) -> Explanation:
    return log.explain_text(text.splitlines())


def _first(text: str) -> Cause:
    return _of(text).causes[0]


def _ids(text: str) -> list[str]:
    return [cause.signature.id for cause in _of(text).causes]


def _raised(file: str, exception: str) -> str:
    return f'Traceback (most recent call last):\n  File "{file}", line 7, in peel\n    x = Fig()\n{exception}'


PACKAGES = "/usr/lib/python3/site-packages"


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("OSError: pear_ext.so: cannot open shared object file: No such file or directory", "LIB_MISSING"),
        ("ImportError: c_fruit.so.2: cannot open shared object file: No such file or directory", "LIB_MISSING"),
        ("peel: error while loading shared libraries: a-b+c.so.1: cannot open shared object file", "LIB_MISSING"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'pear.so'", "FILE_MISSING"),
        ("cat: /opt/pear.so.txt: No such file or directory", "FILE_MISSING"),
    ],
)
def test_loader_and_files_are_told_apart(line: str, id_: str) -> None:
    assert _ids(line)[0] == id_


@pytest.mark.parametrize(
    ("library", "symbol", "is_own"),
    [
        (f"{PACKAGES}/torch_npu/lib/libtorch_npu.so", "_ZN7c10_npu7GetPearEv", True),
        (f"{PACKAGES}/fruit/fruit_C.cpython-310.so", "_ZN5fruit4PearEv", True),
        (f"{PACKAGES}/mmcv/_ext.cpython-310.so", "_ZN4mmcv4peelEv", True),
        (f"{PACKAGES}/mmcv/_ext.cpython-310.so", "_ZN7c10_npu7GetPearEv", False),
        (f"{PACKAGES}/torch_npu/lib/libtorch_npu.so", "_ZN3c104PearC1Ev", False),
        ("/opt/libpear.so", "peel_pear", False),
    ],
)
def test_symbol_of_the_library_itself_is_an_incomplete_build(library: str, symbol: str, is_own: bool) -> None:
    row = _first(f"ImportError: {library}: undefined symbol: {symbol}").signature
    assert ("a part of itself" in row.what) is is_own
    assert (row.certainty is Certainty.POSSIBLE) is is_own


def test_reports_of_pip_have_an_answer_each() -> None:
    head = "ERROR: pip's dependency resolver does not currently take into account all the packages"
    missing = "pear 1.0 requires fig>=2,<3, which is not installed."
    other = "pear 1.0 requires fig==1.2, but you have fig 2.0 which is incompatible."
    row = _first(f"{head}\n{missing}").signature
    assert (row.what, row.do[0][:24]) == (
        "`pear` needs `fig>=2,<3`, which is not installed",
        "pip install 'fig>=2,<3' ",
    )
    assert _first(f"{head}\n{other}").signature.what == "`pear` needs `fig==1.2`, and fig 2.0 is installed"
    assert "the lines below name them" in _first(head).signature.what
    assert "PIP_RESOLVER" not in _ids("RuntimeError: the pear requires a fig, which is not ripe.")
    assert "PIP_RESOLVER" not in _ids("ERROR: pear is not installed")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (f"{PACKAGES}/vllm_ascend/worker/pear.py", "its version may not fit the framework"),
        (f"{PACKAGES}/mindspeed/core/pear.py", "its version may not fit the framework"),
        (f"{PACKAGES}/fruit/pear.py", "`fruit` uses a name that it did not import"),
        ("/home/me/train.py", "never set or imported"),
        ("/usr/lib/python3.10/json/pear.py", "never set or imported"),
    ],
)
def test_undefined_name_is_read_by_whose_code_it_is(file: str, words: str) -> None:
    row = _first(_raised(file, "NameError: name 'Fig' is not defined")).signature
    assert words in row.what
    assert (row.certainty is Certainty.POSSIBLE) is (PACKAGES in file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RuntimeError: ACL error code is 500002, the pear axis is out of range", "the pear axis is out of range"),
        ("EK0001: Path [/x] is invalid. The path has no write right. Please check it.", "has no write right"),
        ("[ERROR] [MIE04E02011C] [endpoint] maxSeqLen should be less than 9. See the docs", "maxSeqLen should be less"),
        ("RuntimeError: f failed, ret = 500001\n[ERROR] pear daemon is not ready yet", "pear daemon is not ready yet"),
        ("EZ3003: No supported Ops kernel and engine are found for [pear_1]", "found for [pear_1]"),
        ("E10001: Value [x] for [--pear] is invalid. Reason: it is not supported", "Reason: it is not supported"),
        ("EE1001: The pear is invalid. Reason: the fig must be green", "Reason: the fig must be green"),
    ],
)
def test_words_beside_a_code_lead(text: str, words: str) -> None:
    row = _first(text).signature
    assert words in row.what and "Please" not in row.what and "See" not in row.what
    assert "the code alone says: " in row.why and row.do[0].startswith("act on these words first")


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: f failed, ret = 500001\nall pears were peeled",
        "RuntimeError: f failed, ret = 500001\n    raise RuntimeError(f'{pear} is not ready')",
        "RuntimeError: f failed, ret = 500001\nI tried it and I have an error: pear is not ready",
    ],
)
def test_code_without_words_keeps_its_own(text: str) -> None:
    assert _first(text).signature.what == "CANN failed to initialise (500001)"


SHAPES = "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"


def test_warning_of_versions_outranks_shapes_and_kernels() -> None:
    warned = "WARNING: torch version 2.6.0 and torch_npu version 2.5.1 do not match"
    for failure in (SHAPES, "RuntimeError: call aclnnPear failed, error code is 561103"):
        row = _first(f"{warned}\n{failure}").signature
        assert (row.id, row.certainty) == ("VERSION_PAIR", Certainty.POSSIBLE)
    assert _ids(f"{SHAPES}\n{warned}")[0] == "TENSOR_SHAPES"
    assert _ids(f"WARNING: pear is not compatible with fig\n{SHAPES}")[0] == "TENSOR_SHAPES"
    assert _ids(f"{warned}\nOSError: [Errno 28] No space left on device: '/a'")[0] == "MA_NO_SPACE"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ERROR: errorCode:NoSuchBucket", "the bucket does not exist"),
        ("ERROR: errorCode:SignatureDoesNotMatch", "does not accept the access keys"),
        ("ERROR: errorCode:RequestTimeTooSkewed", "the clock of this machine is wrong"),
        ("ERROR: errorCode AccessDenied", "refuses access"),
        ("modprobe: ERROR: could not insert 'drv_pear': Key was rejected by service", "it is not signed"),
        ("insmod: could not insert 'pear.ko': Invalid module format", "for another kernel than the running one"),
        ("NotADirectoryError: [Errno 20] Not a directory: '/data/a'", "a file stands where"),
        ("IsADirectoryError: [Errno 21] Is a directory: '/data/a'", "a folder stands where"),
        ("OSError: [Errno 116] Stale file handle: '/data/a'", "does not answer"),
        ("rank table invalid: device_ip [192.0.2.300] is wrong", "an address in the rank table"),
        ("EI0004: The ranktable is invalid, reason: the device_ip of rank 3 is not set", "an address in the rank"),
        ("HcomLoadRanktableFile: load file[/a.json] to json fail", "is not valid JSON"),
        ("bash: ./run.sh: /bin/bash^M: bad interpreter: No such file or directory", "Windows line endings"),
        ("/usr/bin/env: 'bash\\r': No such file or directory", "Windows line endings"),
        ("ERROR: Unsupported ONNX opset version: 20", "operator set is not supported: 20"),
        ("the model's opset version 21 is not supported", "operator set is not supported: 21"),
        ("[Errno 99] error while attempting to bind on address ('192.0.2.1', 80): cannot assign requested address",
         "not one of this machine"),
        ("docker: error gathering device information while adding \"/dev/davinci9\": no such file", "on this host"),
        ("RuntimeError: can't open device /dev/davinci0, errno 2", "is not there where the program runs"),
        ("RuntimeError: cannot open device /dev/davinci0", "may not be mapped into the container"),
    ],
)  # fmt: skip
def test_line_says_which_entry_of_a_list_applies(line: str, words: str) -> None:
    assert words in _first(line).signature.what


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("NotImplementedError: float16 is not supported by FlashInferPearBackend", "CUDA_CLASS"),
        ("ValueError: PearCudaImpl does not support bfloat16", "CUDA_CLASS"),
        ("AssertionError: Flash Attention 3 requires Hopper", "CUDA_CLASS"),
        ("NotImplementedError: PearBackend does not support sliding windows with bfloat16", "CLASS_REFUSES"),
        ("RuntimeError: bfloat16 is not supported on this pear", "BF16_UNSUPPORTED"),
        ("The data type DT_DOUBLE of input x is not supported", "ACLNN_DTYPE_WORDS"),
    ],
)
def test_class_or_backend_decides_before_data_types(line: str, id_: str) -> None:
    row = _first(line).signature
    assert row.id == id_
    assert id_ != "CUDA_CLASS" or row.certainty is Certainty.POSSIBLE


def test_unsupported_feature_asks_for_the_chip_before_the_driver() -> None:
    for line in ("f failed, ret = 207000, feature not supported", "f failed, reason=[feature not support]"):
        assert "chip" in _first(line).signature.do[0] and "driver" not in _first(line).signature.do[0]


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("Error! Your kernel headers for kernel 5.15.0-91-generic cannot be found at /lib/x", "KERNEL_HEADERS"),
        ("Error! Bad return status for module build on kernel: 6.8.0 (aarch64)", "DKMS_FAIL"),
        ("dkms build pear/1.0 failed", "DKMS_FAIL"),
        ("peel-tool: failed to load libdrvdsmi_host.so", "DCMI_LIBRARY"),
        ("[ERROR] libdcmi.so: cannot open shared object file: No such file or directory", "DCMI_LIBRARY"),
        ("pip._vendor.packaging.version.InvalidVersion: Invalid version: '2.1.pear'", "INVALID_VERSION"),
        ("[ERROR] HttpServer listen on 192.0.2.4 failed", "SERVER_LISTEN"),
        ("bisheng: error: unknown target CPU 'pear910'", "CCE_OPTION"),
        ("ccec: error: invalid value 'pear' in '--cce-aicore-arch'", "CCE_OPTION"),
        ("subprocess: Command '['/opt/bishengir-compile', 'a.mlir']' returned non-zero exit status 1", "CCE_FAILED"),
        ("ValueError: Unknown soc version: Ascend000", "CHIP_NAME"),
        ("ModuleNotFoundError: No module named 'sageattention'", "MA_NO_MODULE"),
    ],
)
def test_kinds_that_had_no_row(line: str, id_: str) -> None:
    assert _ids(line)[0] == id_


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ("dkms status: pear/1.0, installed", "DKMS_FAIL"),
        ("loaded libdcmi.so from /usr/local/dcmi", "DCMI_LIBRARY"),
        ("ERROR: open /dev/davinci0 failed: Permission denied", "DOCKER_DEVICE"),
        ("RuntimeError: Failed to open /dev/davinci0, errno 16", "DOCKER_DEVICE"),
        ("ERROR: hccl socket listen failed", "SERVER_LISTEN"),
        ("using bisheng from /opt/bin", "CCE_FAILED"),
        ("ValueError: Unknown soc version: none", "CHIP_NAME"),
        ("Invalid version of the pear", "INVALID_VERSION"),
    ],
)
def test_lines_that_are_something_else(line: str, id_: str) -> None:
    assert id_ not in _ids(line)


def test_failure_at_the_end_of_python_is_no_reason() -> None:
    ending = "Exception ignored in: <function Pear.__del__ at 0x7f>\nTraceback (most recent call last):\n"
    text = f"{ending}  File \"/a/x.py\", line 1, in __del__\nTypeError: 'NoneType' object is not callable"
    row = _first(text).signature
    assert (row.id, row.certainty) == ("EXIT_ONLY", Certainty.POSSIBLE)
    assert _ids(f"ValueError: the pear must be green\n{text}")[0] == "VALUE_REFUSED"
    assert _ids("TypeError: 'NoneType' object is not callable")[0] == "NONE_ATTRIBUTE"


@pytest.mark.parametrize(
    ("line", "is_stated"),
    [
        ("AttributeError: module 'vllm' has no attribute 'PearParams'", False),
        ("AttributeError: module 'vllm' has no attribute '__version__'", False),
        ("KeyError: 'model.layers.0.pear'", False),
        ("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", False),
        ("TypeError: 'type' object is not subscriptable", False),
        ("RuntimeError: Unsupported soc version: Ascend000", False),
        ("TypeError: unsupported operand type(s) for |: 'type' and 'NoneType'", True),
    ],
)
def test_narrow_claims_are_guesses(line: str, is_stated: bool) -> None:
    assert (_first(line).signature.certainty is Certainty.STATED) is is_stated


def test_operands_that_are_no_types_do_not_blame_python() -> None:
    assert "PYTHON_TOO_OLD" not in _ids("TypeError: unsupported operand type(s) for |: 'set' and 'list'")
    assert "a folder" not in _first("AttributeError: module 'vllm' has no attribute 'Pear'").signature.what


def test_modules_of_python_itself_are_no_packages() -> None:
    for line in (
        "ImportError: cannot import name 'Pear' from 'collections' (/usr/lib/python3.9/collections/__init__.py)",
        "AttributeError: module 'inspect' has no attribute 'getpear'",
    ):
        row = _first(line).signature
        assert "of this Python has no" in row.what
        assert not any("pip" in step or "requirements" in step for step in row.do)
    assert "`fruit`" in _first("ImportError: cannot import name 'Pear' from 'fruit.core'").signature.what


def test_cases_belong_to_rows_and_their_values_exist() -> None:
    rows = errors.signatures()
    computed = {"divisors", "package", "standard", "owner", "own", "symbol", "library", "source", "function"}
    assert error_cases.bare() <= set(rows)
    for id_, cases in error_cases.cases().items():
        names = set(errors.pattern(rows[id_]).groupindex) | computed
        for case in cases:
            assert case.match or case.near or case.values
            assert {name for name, _ in case.values} <= computed
            texts = (case.what, case.why, *case.do)
            assert all(set(errors.fields(text)) <= names for text in texts if not text.startswith("for i in")), id_


def test_no_headline_is_empty() -> None:
    for row in errors.signatures().values():
        what = errors.filled(row, {"line": "the line"}).what
        assert what and what[0] not in ".,:;)", row.id


def test_scaler_and_fused_optimizer_name_the_way_out() -> None:
    line = "TypeError: Adam.step() got an unexpected keyword argument 'grad_scaler'"
    row = _first(_raised(f"{PACKAGES}/torch_npu/npu/amp/grad_scaler.py", line)).signature
    assert row.what == "torch_npu's gradient scaler does not fit torch's fused optimizers"
    assert 'optim="adamw_torch"' in row.do[0] and 'torch.amp.GradScaler("npu")' in row.do[1]


@pytest.mark.parametrize(
    ("file", "exception"),
    [
        (f"{PACKAGES}/vllm_ascend/pear.py", "TypeError: 'NoneType' object is not iterable"),
        ("/vllm-workspace/vllm-ascend/vllm_ascend/ops/pear.py", "AttributeError: 'Fig' object has no attribute 'peel'"),
        ("/vllm-workspace/vllm/vllm/pear.py", "AttributeError: 'AscendFig' object has no attribute 'peel'"),
        ("/home/me/pear.py", "TypeError: NPUFig.peel() got an unexpected keyword argument 'green'"),
    ],
)
def test_failure_inside_of_vllm_ascend_is_a_matter_of_releases(file: str, exception: str) -> None:
    row = _first(_raised(file, exception)).signature
    assert "vLLM and vllm-ascend are of different releases, or this release has a bug" in row.why
    assert "newest release" in row.do[1]
    other = _first(_raised("/home/me/pear.py", "AttributeError: 'Fig' object has no attribute 'peel'")).signature
    assert "vllm-ascend" not in other.why


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "NotImplementedError: jumar: torchair compiles with CANN's graph engine (GE), which is not emulated",
            "torchair compiles",
        ),
        (
            "NotImplementedError: npu::npu_pear is not implemented by the emulator; `jumar emulate coverage` lists",
            "npu::npu_pear is not implemented",
        ),
        ("RuntimeError: pear: error code is 161002 jumar: `aclnnPear` is not emulated (state: refused)", "aclnnPear"),
    ],
)
def test_a_refusal_of_the_emulator_is_not_blamed_on_the_card(line: str, words: str) -> None:
    code = "[ERROR] 2026-11-17-20:58:43 (PID:7, Device:0, RankID:-1) ERR03007 GRAPH feature not supported"
    row = _first(f"{line}\n{code}").signature
    assert row.id == "EMULATOR_REFUSED"
    assert row.what.startswith(f"Jumar's emulator refuses this: {words}")


def test_what_the_emulator_replaces_and_tells_is_no_error() -> None:
    assert not _ids(
        "jumar: graph kernels (jit_level O1) are not emulated: kernels run one by one, as with jit_level O0"
    )
