"""The steps that need no root: a Python of the right version, the packages of CANN, the framework, a final check."""

from __future__ import annotations

import re

from packaging.version import Version

from jumar.machine.plan import parts
from jumar.machine.plan.candidates import Candidate
from jumar.machine.plan.step import InstallStep
from jumar.tables import installation, versions
from jumar.tables.installation import System
from jumar.tables.load import table
from jumar.tables.mindspore_versions import MindSpore
from jumar.tables.versions import Release

PIP = '"$VENV/bin/python" -m pip'
INDEX, TYPED_INDEX = '"$(torch_index)"', '"$TORCH_INDEX"'
"""The address of PyTorch's CPU builds, in a step and as a person types it."""
IMPORTS = "attr, cffi, decorator, google.protobuf, numpy, psutil, requests, scipy, sympy, yaml"
TORCH_PROOF = "import torch, torch_npu; a = torch.randn(3, 4).npu(); print(a + a)"
MINDSPORE_PROOF = (
    ("2.6.0", "mindspore.set_device('Ascend')"),
    ("2.1.0", "mindspore.set_context(device_target='Ascend')"),
)


def python_steps(one: Candidate, extras: tuple[str, ...], system: System | None) -> tuple[InstallStep, ...]:
    found = [_python(one), _packages(one), *_cann_wheels(one)]
    if isinstance(one.row, Release):
        found += [
            _torch(one, one.row),
            _pip("torch_npu", one.row.torch_npu, _torch_npu_words(one, one.row)),
            *_companions(one, one.row, extras),
        ]
        found.append(_proof("torch", TORCH_PROOF))
    elif isinstance(one.row, MindSpore):
        found += [_mindspore(one, one.row, system), _proof("mindspore", _mindspore_proof(one.row))]
    return tuple(found)


def install_lines(one: Candidate, extras: tuple[str, ...]) -> list[str]:
    """The words after `pip install` of every package, in order, for an image."""
    lines = [_quoted(python_packages(one))]
    if isinstance(one.row, Release):
        lines += [torch_words(one, one.row), _torch_npu_words(one, one.row)]
        pair = versions.companions().get(one.row.torch, {})
        lines += [
            _companion_words(one, name, pair[name])
            for name in ("torchvision", "torchaudio")
            if name in extras and name in pair
        ]
    elif isinstance(one.row, MindSpore):
        lines.append(mindspore_words(one, one.row, None))
    return lines


def python_packages(one: Candidate) -> list[str]:
    """What CANN's Python programs import, with the numpy that this framework takes."""
    row = table("installation.toml")["python"]
    numpy = row["numpy"]
    if isinstance(one.row, Release) and Version(one.row.torch) >= Version(row["numpy_torch_from"]):
        numpy = row["numpy_torch"].get(one.python, numpy)
    return [numpy, *row["packages"]]


def _python(one: Candidate) -> InstallStep:
    exact = one.row.exact_python.get(one.python, one.python) if isinstance(one.row, MindSpore) else one.python
    version = tuple(int(word) for word in one.python.split("."))
    return InstallStep(
        "python",
        f"Create an environment with Python {one.python}",
        'maker=$(python_maker)\nPATH=$PLAN_PATH\ncase "$maker" in\n'
        '  venv) "$PYTHON" -m venv "$VENV" ;;\n'
        f'  uv) uv venv --seed --python {exact} "$VENV" ;;\n'
        f'  *) "$maker" create -y -p "$VENV" python={exact} pip ;;\nesac',
        f'"$VENV/bin/python" -c "import sys; sys.exit(sys.version_info[:2] != {version})"',
        'rm -r "$VENV"',
        shown='"$PYTHON" -m venv "$VENV"',
        look='"$VENV/bin/python" --version',
    )


def _packages(one: Candidate) -> InstallStep:
    words = python_packages(one)
    return InstallStep(
        "python-packages",
        "Install the Python packages that CANN imports",
        f"{PIP} install {_quoted(words)}",
        f'"$VENV/bin/python" -c "import {IMPORTS}"',
        f"{PIP} uninstall -y {' '.join(_names(words))}",
        look=f'"$VENV/bin/python" -c "import {IMPORTS}"',
        note="never install `te`, `acl`, `hccl` or `apex` by name: those on the public index are unrelated",
    )


def _cann_wheels(one: Candidate) -> list[InstallStep]:
    """CANN's own te and hccl packages, in the releases that bring them as wheels."""
    row = installation.row_for("wheels", one.cann)
    if row is None:
        return []
    folder = f'"$ASCEND/{row["folder"]}"'
    return [
        InstallStep(
            "cann-wheels",
            "Install CANN's own te and hccl packages",
            f"{PIP} uninstall -y te topi hccl\n"
            f"{PIP} install --no-deps {folder}/te-*-py3-none-any.whl {folder}/hccl-*-py3-none-any.whl",
            _has("te") + " &&\n" + _has("hccl"),
            f"{PIP} uninstall -y te hccl",
            look=f"{PIP} show te hccl",
        )
    ]


def _torch(one: Candidate, row: Release) -> InstallStep:
    note = (
        "the CPU build: the CUDA build brings gigabytes that an NPU does not use;"
        f" TORCH_INDEX is the address of the CPU builds, which {installation.address('torch_cpu')} names"
    )
    return _pip("torch", row.torch, torch_words(one, row), note)


def torch_words(one: Candidate, row: Release) -> str:
    """x86_64 wheels of torch_npu pin the `+cpu` build up to 2.11, the others the plain number; both are CPU builds."""
    pin = row.pin.get(one.arch) or (f"{row.torch}+cpu" if one.arch == "x86_64" else row.torch)
    return f"torch=={pin.removesuffix('.*')}{_index(one)}"


def _index(one: Candidate) -> str:
    """The index of CPU builds, where it is needed."""
    return f" --index-url {INDEX}" if needs_index(one) else ""


def needs_index(one: Candidate) -> bool:
    """The index of CPU builds has no aarch64 wheels of the first torch releases; the public one has."""
    old = one.arch == "aarch64" and Version(one.version or "0") < Version("2")
    return isinstance(one.row, Release) and not old


def early_steps(one: Candidate) -> list[InstallStep]:
    """What would stop the Python steps is found out before anything is installed."""
    found = [_maker(one)]
    if needs_index(one):
        found.append(_find_index())
    return found


def system_python(one: Candidate, manager: str) -> InstallStep:
    """Where the system has this Python, it is installed; otherwise conda or uv of the user make the environment."""
    row = table("installation.toml")["managers"][manager]
    words = " ".join(name.format(python=one.python) for name in row["python"])
    return InstallStep(
        "system-python",
        f"Install Python {one.python} where the system has it",
        f"{row['install']} {words} || true",
        "python_maker",
        "nothing: these are ordinary system packages",
        root=True,
        shown=f"{row['install']} {words}",
        look='"$PYTHON" -m venv --help',
    )


def _maker(one: Candidate) -> InstallStep:
    return InstallStep(
        "python-found",
        f"Find what makes an environment with Python {one.python}",
        "python_maker",
        "python_maker",
        "nothing: this only checks",
        shown='"$PYTHON" -c "import ensurepip, venv"',
    )


def _find_index() -> InstallStep:
    page = installation.address("torch_cpu_page")
    return InstallStep(
        "torch-index",
        "Find PyTorch's CPU builds",
        'mkdir -p "$WORK"\ntorch_index >"$WORK/torch-index.part"\nmv "$WORK/torch-index.part" "$WORK/torch-index"',
        'test -n "$TORCH_INDEX" || test -s "$WORK/torch-index"',
        'rm "$WORK/torch-index"',
        shown="export TORCH_INDEX=…   # the address behind `--index-url` of a CPU build",
        note=f"read from {page} unless TORCH_INDEX is set",
    )


def _torch_npu_words(one: Candidate, row: Release) -> str:
    if row.published:
        return f"torch_npu=={row.torch_npu}"
    product = (row.branch or "").partition("-")[2] or row.branch or ""
    url = installation.address("torch_npu")
    return url.format(product=product, torch=row.torch, torch_npu=row.torch_npu, tag=tag(one.python), arch=one.arch)


def _companions(one: Candidate, row: Release, extras: tuple[str, ...]) -> list[InstallStep]:
    pair = versions.companions().get(row.torch, {})
    names = [name for name in ("torchvision", "torchaudio") if name in extras and name in pair]
    found = [_pip(name, pair[name], _companion_words(one, name, pair[name])) for name in names]
    patch, speed = parts.apex(one), parts.deepspeed(one)
    if "apex" in extras and patch:
        found.append(_apex(one, patch["branch"]))
    if "deepspeed" in extras and speed:
        version = speed["version"]
        words = f"'deepspeed{version}'" if version.startswith(">") else f"deepspeed=={version}"
        found.append(_pip("deepspeed", None, words, speed["note"]))
    return found


def _companion_words(one: Candidate, name: str, version: str) -> str:
    return f"{name}=={version}{'+cpu' if one.arch == 'x86_64' else ''}{_index(one)}"


def _apex(one: Candidate, branch: str) -> InstallStep:
    return InstallStep(
        "apex",
        "Build and install Ascend's apex",
        f'rm -rf "$WORK/apex"\ngit clone --depth 1 -b {branch} {installation.address("apex")} "$WORK/apex"\n'
        f'{PIP} install "setuptools<=65.7.0" wheel\n'
        f'cd "$WORK/apex"\nPATH="$VENV/bin:$PATH" bash scripts/build.sh --python={one.python}\n'
        f"{PIP} install --upgrade apex/dist/apex-*.whl",
        _has("apex"),
        f"{PIP} uninstall -y apex",
        note="the build fetches NVIDIA's apex and applies the vendor's patch",
    )


def _mindspore(one: Candidate, row: MindSpore, system: System | None) -> InstallStep:
    name = "mindspore" if Version(row.mindspore) >= Version("2.0.0a0") else "mindspore-ascend"
    return _pip(name, row.mindspore, mindspore_words(one, row, system))


def mindspore_words(one: Candidate, row: MindSpore, system: System | None) -> str:
    """From the index or from the vendor's address; up to 1.2 there was a wheel for each system."""
    if row.from_index:
        return f"{row.package}=={row.mindspore}"
    version = Version(row.mindspore)
    old = version < Version("2.0.0a0")
    arch = one.arch
    if version < Version("1.3"):
        name = (system.mindspore if system else None) or "ubuntu"
        arch = f"{name}_{'x86' if one.arch == 'x86_64' else one.arch}"
    return installation.address("mindspore").format(
        v=row.mindspore,
        place=f"{'ascend' if old else 'unified'}/{arch}",
        ascend="_ascend" if old else "",
        wheel=row.mindspore.replace("-", ""),
        tag=tag(one.python),
        arch=one.arch,
    )


def _mindspore_proof(row: MindSpore) -> str:
    version = Version(row.mindspore)
    setup = next((code for low, code in MINDSPORE_PROOF if version >= Version(low)), None)
    if version < Version("1.6"):
        return "import mindspore; mindspore.context.set_context(device_target='Ascend'); print(mindspore.__version__)"
    return "; ".join(filter(None, ["import mindspore", setup, "mindspore.run_check()"]))


def _proof(name: str, code: str) -> InstallStep:
    line = f'"$VENV/bin/python" -c "{code}"'
    title = f"Check that {name} computes on the NPU"
    return InstallStep(
        "proof", title, f"use_cann\n{line}", f"use_cann\n{line}", "nothing: this only checks", shown=line
    )


def _pip(name: str, version: str | None, words: str, note: str | None = None) -> InstallStep:
    """A package from the words that pip takes; its name is that of the step as well."""
    return InstallStep(
        name.replace("_", "-"),
        f"Install {name} {version or ''}".rstrip(),
        f"{PIP} install {words}",
        _has(name, version),
        f"{PIP} uninstall -y {name}",
        note=note,
        shown=f"{PIP} install {words.replace(INDEX, TYPED_INDEX)}",
        look=f"{PIP} show {name}",
    )


def _has(package: str, version: str | None = None) -> str:
    """A test that a package, in this version, is in the environment; local parts such as `+cpu` do not count."""
    return f"has_package {package} {Version(version)}" if version else f"has_package {package}"


def tag(python: str) -> str:
    """The tags of a CPython wheel; up to 3.7 they had an m."""
    digits = python.replace(".", "")
    return f"cp{digits}-cp{digits}{'m' if digits in ('36', '37') else ''}"


def _quoted(words: list[str]) -> str:
    return " ".join(f"'{word}'" if any(mark in word for mark in "<>*") else word for word in words)


def _names(words: list[str]) -> list[str]:
    return [re.split(r"[<>=~!]", word)[0] for word in words]
