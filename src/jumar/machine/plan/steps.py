"""The ordered steps of an installation as plain values: what to do, how to see that it is done, how to undo it.

The order is the vendor's: driver then firmware on a first install, firmware then driver over an older one (the old
driver writes the new firmware), then toolkit, operator package, environment, Python packages, framework.
"""

from __future__ import annotations

from jumar.core.compat import dataclass
from jumar.machine.plan.candidates import Candidate
from jumar.machine.plan.packages import Package
from jumar.machine.plan.python_steps import early_steps, python_steps, system_python
from jumar.machine.plan.step import InstallStep
from jumar.tables import cann as releases
from jumar.tables import installation
from jumar.tables.installation import System
from jumar.tables.load import table

GROUP = "HwHiAiUser"
LIMITS = "/etc/security/limits.d/99-ascend.conf"
KIT = ("driver", "firmware")
LAYER = ("toolkit", "ops", "nnal")
RESTART = "restart the machine, then run this again: it continues here"
RENAMED = "8.5.0"
"""From here on the home is `cann-<version>`, before it was `ascend-toolkit/<version>`."""
FIRST = """if [ -e "$ASCEND/driver/version.info" ]; then
  echo "another driver is installed, and this plan is for a first install: plan again with --overwrite" >&2
  exit 1
fi
"""
"""Over an older driver the firmware comes first, so a plan for a bare machine must not go on."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the plan is carried out."""

    system: System | None = None
    manager: str = "apt"
    no_root: bool = False
    installed_driver: str | None = None
    keep_driver: bool = False
    overwrite: bool = False
    extras: tuple[str, ...] = ()


def steps(one: Candidate, target: Target, packages: tuple[Package, ...]) -> tuple[InstallStep, ...]:
    """Every step in order."""
    by_kind = {package.kind: package for package in packages}
    layers = [_layer(by_kind[kind], one, target) for kind in LAYER if kind in by_kind]
    kit = [_kit_step(by_kind[kind], target.overwrite) for kind in KIT if kind in by_kind]
    if target.overwrite:
        kit.reverse()
    fetch = _fetch(by_kind, {step.id: step for step in (*kit, *layers)})
    return (
        *_base(one, target, kit, fetch),
        *layers,
        *_settings(one, target),
        *python_steps(one, target.extras, target.system),
    )


def _base(one: Candidate, target: Target, kit: list[InstallStep], fetch: InstallStep) -> list[InstallStep]:
    """What belongs to the machine, not to the plan's user, and the files for everything."""
    if target.no_root:
        return [*early_steps(one), fetch, _driver_works("the driver is the administrator's work: send them this line")]
    found = [_prerequisites(target.manager, driver=bool(kit)), system_python(one, target.manager)]
    found += [*early_steps(one), fetch, _group()]
    if kit:
        return [*found, *kit, _driver_works(RESTART)]
    board = one.family == "310B"
    why = "the driver comes with the board's system image" if board else "the driver that is installed does not work"
    return [*found, _driver_works(why)]


def _prerequisites(name: str, *, driver: bool) -> InstallStep:
    manager = table("installation.toml")["managers"][name]
    names = dict.fromkeys([*(manager["driver"] if driver else []), *manager["cann"]])
    words = " ".join(f'"{name}"' if "$" in name else name for name in names)
    lines = [manager[name] for name in ("update",) if name in manager] + [f"{manager['install']} {words}"]
    return InstallStep(
        "prerequisites",
        "Install compilers, kernel headers and tools",
        "\n".join(lines),
        f"{manager['has']} {words} >/dev/null",
        "nothing: these are ordinary system packages",
        root=True,
        look=manager["has"] + " dkms" if driver else manager["has"] + " gcc",
    )


def _group() -> InstallStep:
    return InstallStep(
        "user",
        f"Create the user and group {GROUP}",
        f"getent group {GROUP} >/dev/null || groupadd {GROUP}\n"
        f"id {GROUP} >/dev/null 2>&1 || useradd -g {GROUP} -d /home/{GROUP} -m {GROUP} -s /bin/bash\n"
        f'if [ "$PLAN_USER" != root ]; then usermod -aG {GROUP} "$PLAN_USER"; fi',
        f'id {GROUP} && {{ [ "$PLAN_USER" = root ] || id -nG "$PLAN_USER" | grep -qw {GROUP}; }}',
        f"userdel -r {GROUP}, if this step made it",
        root=True,
        note="the script's later steps already have the group; log in again, so that your own shell has it too",
        shown=f"groupadd {GROUP}\nuseradd -g {GROUP} -d /home/{GROUP} -m {GROUP} -s /bin/bash\n"
        f"usermod -aG {GROUP} YOUR-NAME",
        look=f"id {GROUP}",
    )


def _kit_step(package: Package, overwrite: bool) -> InstallStep:
    kind = package.kind
    first = "" if overwrite or kind == "firmware" else FIRST
    flags = "--full --install-for-all --quiet" if kind == "driver" else "--full --quiet"
    info = f'"$ASCEND/{kind}/version.info"'
    known = package.version is not None
    wanted = f"{package.version}" if known else f'"$(version_of "$(newest "{package.installer}")")"'
    return InstallStep(
        kind,
        f"Install the {kind}",
        first + f'bash "$(newest "{package.installer}")" {flags}',
        f"has_version {info} {wanted}",
        f"run $ASCEND/{kind}/script/uninstall.sh as root, then restart",
        root=True,
        needs=(package.file,),
        note="the installer's log is /var/log/ascend_seclog/ascend_install.log",
        shown=_typed(package, flags),
        look=f"cat $ASCEND/{kind}/version.info",
    )


def _driver_works(otherwise: str) -> InstallStep:
    return InstallStep(
        "devices",
        "Check that the driver answers",
        f'npu-smi info || {{\n  echo "npu-smi does not answer: {otherwise}" >&2\n  exit 1\n}}',
        "npu-smi info",
        "nothing: this only checks",
        note=otherwise if otherwise == RESTART else None,
        shown="npu-smi info",
        restart=otherwise == RESTART,
    )


def _layer(package: Package, one: Candidate, target: Target) -> InstallStep:
    everyone = "" if target.no_root else " --install-for-all"
    environment = "" if package.kind == "toolkit" else "use_cann\n"
    flags = f'--quiet --install{everyone} --install-path="$ASCEND"'
    check, look = _layer_check(package, one)
    return InstallStep(
        package.kind,
        f"Install the {package.title}",
        f'{environment}mkdir -p "$ASCEND"\nbash "$(newest "{package.installer}")" {flags}',
        check,
        f"bash {package.installer} --uninstall --install-path=$ASCEND{'' if target.no_root else ' (as root)'}",
        root=not target.no_root,
        needs=(package.file,),
        shown=_typed(package, flags.replace('"', "")),
        look=look,
    )


def _layer_check(package: Package, one: Candidate) -> tuple[str, str]:
    """A test for bash, and what a person types."""
    version = package.version
    renamed = releases.key(one.cann) >= releases.key(RENAMED)
    home = f"cann-{version}" if renamed else f"ascend-toolkit/{version}"
    if package.kind == "nnal":
        return f'test -d "$ASCEND/nnal/atb/{version}"', "ls $ASCEND/nnal/atb"
    if package.kind == "toolkit":
        info = f"{home}/{one.arch}-linux/ascend_toolkit_install.info"
        return f'has_version "$ASCEND/{info}" {version}', f"cat $ASCEND/{info}"
    if renamed:
        info = f"{home}/{one.arch}-linux/ascend_ops_install.info"
        return f'has_version "$ASCEND/{info}" {version}', f"cat $ASCEND/{info}"
    look = f"cat $ASCEND/{home}/opp_kernel/version.info"
    return f'find -L "$ASCEND/{home}" -path "*opp_kernel/version.info" | grep -q .', look


def _fetch(packages: dict[str, Package], installs: dict[str, InstallStep]) -> InstallStep:
    """All installers at once, as the user: fetched where an address is sure; what is installed needs none."""
    lines, tests = [], []
    for kind, step in installs.items():
        package = packages[kind]
        sure = package.url and package.confidence == "official" and not _is_page(package.url)
        words = (package.installer, package.file, package.url if sure else "", package.page)
        lines.append(f"{{ {step.done}; }} 2>/dev/null || get " + " ".join(f'"{word}"' for word in words))
        tests.append(f'{{ {{ {step.done}; }} 2>/dev/null || checked "{package.installer}"; }}')
    return InstallStep(
        "packages",
        "Get the packages and verify them",
        "\n".join(lines),
        " &&\n".join(tests),
        "nothing: files in $PACKAGES can stay",
        needs=tuple(dict.fromkeys(packages[kind].file for kind in installs)),
        shown="\n".join(_shown_checks([packages[kind] for kind in installs])),
    )


def _shown_checks(packages: list[Package]) -> list[str]:
    archives = dict.fromkeys(package.file for package in packages if package.inner)
    return [*(f"unzip -o {file}" for file in archives), *(f"bash {package.installer} --check" for package in packages)]


def _typed(package: Package, flags: str) -> str:
    return f"bash {package.installer} {flags}"


def _is_page(url: str) -> bool:
    """Some old packages only have a page where somebody has to log in."""
    return not url.endswith((".run", ".zip"))


def _settings(one: Candidate, target: Target) -> list[InstallStep]:
    row = installation.row_for("environment", one.cann)
    assert row is not None
    profile = '"$PLAN_HOME/.bashrc"'
    line = 'line="source $(cann_environment)"\n'
    environment = InstallStep(
        "environment",
        "Load CANN's environment in every shell",
        f'{line}grep -qxF "$line" {profile} 2>/dev/null || echo "$line" >>{profile}',
        f'{line}grep -qxF "$line" {profile}\nuse_cann\ntest -n "${{ASCEND_OPP_PATH:-}}"',
        "remove the line with set_env.sh from ~/.bashrc",
        shown=f'echo "source $ASCEND/{row["files"][0]}" >> ~/.bashrc\nsource $ASCEND/{row["files"][0]}',
        look="echo $ASCEND_OPP_PATH",
    )
    return [environment] if target.no_root else [environment, _limits()]


def _limits() -> InstallStep:
    lines = ("* soft nofile 65535", "* hard nofile 65535", "* soft nproc unlimited", "* hard nproc unlimited")
    text = "".join(f"{line}\\n" for line in lines)
    return InstallStep(
        "limits",
        "Raise the limits for open files and processes",
        f'mkdir -p "$(dirname "$LIMITS")"\nprintf \'{text}\' >"$LIMITS"',
        'grep -q "nproc unlimited" "$LIMITS"',
        f"rm {LIMITS}",
        root=True,
        shown=f"printf '{text}' > {LIMITS}",
        look="ulimit -n -u (in a new login)",
    )
