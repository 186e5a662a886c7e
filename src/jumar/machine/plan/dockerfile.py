"""A plan as a Dockerfile: on a public CANN image where one has these versions, else with the same layout from packages.

The driver stays on the host and is mounted; only the firmware, driver and device files of the host are needed.
Layout and commands: Ascend/cann-container-image at c5a67b3a747b.
"""

from __future__ import annotations

from jumar.machine.plan.build import Plan
from jumar.machine.plan.candidates import IMAGE_SYSTEMS, Candidate
from jumar.machine.plan.packages import Package
from jumar.machine.plan.python_steps import INDEX, TYPED_INDEX, install_lines, needs_index
from jumar.tables import cann as releases
from jumar.tables import installation
from jumar.tables.installation import System
from jumar.tables.load import table

RUN = """# docker run -it --rm --ipc=host --shm-size=16g \\
#   --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc \\
#   -v /usr/local/dcmi:/usr/local/dcmi -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi \\
#   -v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/ \\
#   -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info \\
#   -v /etc/ascend_install.info:/etc/ascend_install.info IMAGE bash"""


SHELL = 'SHELL ["/bin/bash", "-o", "pipefail", "-c"]'


def image(made: Plan) -> str:
    """The whole Dockerfile."""
    tag = public_tag(made.candidate, made.system)
    lines = [
        f"# {made.candidate}",
        "# Written by `jumar plan`, never tried on an NPU. To start it on a host:",
        RUN,
    ]
    lines += _public(made, tag) if tag else _own(made)
    pip = "python3 -m pip install --no-cache-dir"
    words = [f"{pip} {line}" for line in install_lines(made.candidate, made.options.extras)]
    words[1:1] = [] if tag else [f"{pip} {line}" for line in _cann_wheels(made)]
    if needs_index(made.candidate):
        lines += [
            "# The address of PyTorch's CPU builds; it is read from PyTorch's own page unless --build-arg sets it.",
            'ARG TORCH_INDEX=""',
        ]
        words = [_find_index(), *(line.replace(INDEX, TYPED_INDEX) for line in words)]
    lines.append("RUN " + " && \\\n    ".join(words))
    return "\n".join(lines if tag else [*lines, *_environment(made)]) + "\n"


def _find_index() -> str:
    page = installation.address("torch_cpu_page")
    read = f"{{ curl -fsSL {page} || wget -qO- {page}; }} | grep -oE 'https://[A-Za-z0-9./_-]+/whl/cpu' | head -n 1"
    return f'TORCH_INDEX="${{TORCH_INDEX:-$({read})}}" && test -n "$TORCH_INDEX"'


def public_tag(one: Candidate, system: System | None) -> str | None:
    """The tag of a public image with this CANN, chip and Python, of the wanted system or of a usual one."""
    systems = (*_wanted(system), *IMAGE_SYSTEMS)
    return releases.image(one.cann, installation.families()[one.family].ops, systems, one.python)


def _wanted(system: System | None) -> list[str]:
    return [f"{system.id}{system.release}"] if system else []


def _public(made: Plan, tag: str) -> list[str]:
    other = made.system and _wanted(made.system)[0] not in tag.lower()
    note = [f"# There is no public image of {made.system.name} with these versions."] if made.system and other else []
    return [*note, f"FROM {installation.address('image')}:{tag}"]


def _own(made: Plan) -> list[str]:
    """Base image with the right Python, system packages, and the installers from the build's folder."""
    debian = "bookworm" if made.candidate.python in ("3.12", "3.13", "3.14") else "bullseye"
    packages = " ".join(table("installation.toml")["managers"]["apt"]["cann"])
    copy = " ".join(dict.fromkeys(package.file for package in made.packages))
    return [
        "# No public CANN image has these versions: put the packages beside this file.",
        f"FROM python:{made.candidate.python}-slim-{debian}",
        SHELL,
        f"RUN apt-get update && apt-get install -y --no-install-recommends {packages} && \\\n"
        "    rm -rf /var/lib/apt/lists/*",
        "RUN groupadd -g 1000 HwHiAiUser && useradd -g HwHiAiUser -u 1000 -m -s /bin/bash HwHiAiUser",
        f"COPY {copy} /tmp/packages/",
        *(_install(package, _script(made)) for package in made.packages),
        "RUN rm -rf /tmp/packages",
    ]


def _cann_wheels(made: Plan) -> list[str]:
    row = installation.row_for("wheels", made.candidate.cann)
    folder = f"/usr/local/Ascend/{row['folder']}" if row else ""
    return [f"--no-deps {folder}/te-*-py3-none-any.whl {folder}/hccl-*-py3-none-any.whl"] if row else []


def _install(package: Package, script: str) -> str:
    words = ["cd /tmp/packages", *([f"unzip -o -q {package.file}"] if package.inner else [])]
    words += [f"bash {package.installer} --check", *([] if package.kind == "toolkit" else [f"source {script}"])]
    return "RUN " + " && ".join([*words, f"bash {package.installer} --quiet --install --install-for-all"])


def _script(made: Plan) -> str:
    row = installation.row_for("environment", made.candidate.cann)
    assert row is not None
    return f"/usr/local/Ascend/{row['files'][0]}"


def _environment(made: Plan) -> list[str]:
    script = _script(made)
    driver = "/usr/local/Ascend/driver/lib64"
    return [
        f"ENV LD_LIBRARY_PATH={driver}:{driver}/common:{driver}/driver",
        f'RUN echo "source {script}" >> /etc/profile && echo "source {script}" >> /root/.bashrc',
        f'ENTRYPOINT ["/bin/bash", "-c", "source {script} && exec \\"$@\\"", "--"]',
        'CMD ["bash"]',
    ]
