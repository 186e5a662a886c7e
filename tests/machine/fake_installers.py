"""Small stand-ins for the vendor's installers and for the programs that a plan calls; each records its calls."""

from __future__ import annotations

import os
from pathlib import Path

from jumar.machine.plan.build import Plan
from jumar.tables import cann as releases
from jumar.tables import installation

INSTALLER = """#!/bin/sh
# generated using Makeself (a stand-in that records)
echo "$(basename "$0") $*" >> "{record}"
case "$1" in
  --check) test ! -e "$0.broken"; exit $? ;;
esac
if [ -e "$0.fails" ]; then echo "the disk is full" >&2; exit 1; fi
place="{ascend}"
{body}
"""

BODIES = {
    "driver": 'mkdir -p "$place/driver"; echo "Version={version}" > "$place/driver/version.info"',
    "firmware": 'mkdir -p "$place/firmware"; echo "Version={version}" > "$place/firmware/version.info"',
    "toolkit": """mkdir -p "$place/{home}/{arch}-linux" "$place/{short}"
echo "version={version}" > "$place/{home}/{arch}-linux/ascend_toolkit_install.info"
echo 'export ASCEND_OPP_PATH="'$place'/opp"' > "$place/{short}/set_env.sh"
""",
    "ops": 'test -n "$ASCEND_OPP_PATH" || exit 3\n{ops}',
    "nnal": 'mkdir -p "$place/nnal/atb/{version}"',
}

PROGRAMS = {
    "apt-get": 'touch "{state}/packages"',
    "dpkg": 'test -e "{state}/packages"',
    "getent": 'case "$1" in passwd) echo "me:x:1:1::{home}:/bin/bash" ;; *) test -e "{state}/group" ;; esac',
    "groupadd": 'touch "{state}/group"',
    "id": """case "$1" in -un) echo "${{FAKE_USER:-root}}" ;; -u) echo "${{FAKE_UID:-0}}" ;;
  -nG) if [ "$2$FAKE_SG" ] || [ -z "$FAKE_OLD_LOGIN" ]; then echo HwHiAiUser; else echo me; fi ;;
  *) test -e "{state}/user" ;; esac""",
    "sudo": """if [ -e "{state}/asks" ]; then case "$*" in *-n*) exit 1 ;; esac; fi
if [ "$1" = -v ]; then rm -f "{state}/asks"; exit 0; fi
while true; do case "$1" in -u) shift 2 ;; -*) shift ;; *) break ;; esac; done; exec "$@\"""",
    "usermod": "true",
    "sg": 'FAKE_SG=1 exec sh -c "$3"',
    "systemctl": 'if [ "$1" = reboot ]; then rm -f "{state}/restart"; echo second > "{state}/boot"; fi',
    "wget": "exit 4",
    "useradd": 'touch "{state}/user"',
    "npu-smi": """if [ -n "$FAKE_OLD_LOGIN" ] && [ -z "$FAKE_SG" ]; then exit 1; fi
test -e "{ascend}/driver/version.info" && test ! -e "{state}/restart\"""",
    "curl": """case "$*" in *pytorch.org*) cat "{state}/page" 2>/dev/null && exit 0 ;; esac; exit 22""",
    "uname": 'case "$1" in -m) echo "{arch}" ;; *) echo 5.10 ;; esac',
}

PYTHON = """#!/bin/sh
# a Python environment that only pretends: `pip install` records names and versions
echo "python $*" >> "{record}"
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit 0 ;;
  "-m pip")
    case "$3" in
      install)
        for word in "$@"; do
          case "$word" in
            *==*) echo "${{word%%==*}} ${{word##*==}}" | tr - _ >> "{state}/pip" ;;
            *.whl) basename "$word" | sed -E 's/^([^-]+)-([^-]+)-.*/\\1 \\2/' >> "{state}/pip" ;;
          esac
        done
        touch "{state}/pip-used"; exit 0 ;;
      show) name=$(echo "$4" | tr - _); found=$(grep "^$name " "{state}/pip" 2>/dev/null | tail -n 1) || exit 1
        [ -n "$found" ] || exit 1
        echo "Name: $4"; echo "Version: ${{found#* }}"; exit 0 ;;
      uninstall) exit 0 ;;
    esac ;;
  "-c "*"sys.version_info"*) exit 0 ;;
  "-c "*"import ensurepip"*) test ! -e "{state}/no-python"; exit $? ;;
  "-c "*"import attr"*) test -e "{state}/pip-used"; exit $? ;;
  "-c "*) test -n "$ASCEND_OPP_PATH"; exit $? ;;
esac
exit 9
"""


class Machine:
    """A folder that looks like a bare machine to the script of a plan."""

    def __init__(self, folder: Path, arch: str = "x86_64") -> None:
        self.folder, self.arch = folder, arch
        self.ascend, self.packages, self.state = folder / "Ascend", folder / "packages", folder / "state"
        self.programs, self.home, self.record = folder / "bin", folder / "home", folder / "record"
        for place in (self.packages, self.state, self.programs, self.home):
            place.mkdir(parents=True)
        values = {"state": self.state, "home": self.home, "ascend": self.ascend, "arch": arch, "record": self.record}
        (self.state / "boot").write_text("first\n")
        for name, body in PROGRAMS.items():
            self._write(
                self.programs / name, f'#!/bin/sh\necho "{name} $*" >> "{self.record}"\n' + body.format(**values)
            )
        for minor in range(7, 15):
            self._write(self.programs / f"python3.{minor}", PYTHON.format(**values))

    def installer(self, kind: str, file: str, version: str, *, renamed: bool = True) -> Path:
        """Puts an installer of this name into the folder of packages."""
        home = f"cann-{version}" if renamed else f"ascend-toolkit/{version}"
        info = f"{home}/{self.arch}-linux/ascend_ops_install.info"
        ops = f'echo "version={version}" > "$place/{info}"'
        if not renamed:
            ops = f'mkdir -p "$place/{home}/opp_kernel"; echo x > "$place/{home}/opp_kernel/version.info"'
        words = {"version": version, "home": home, "arch": self.arch, "ops": ops}
        body = BODIES[kind].format(short="cann" if renamed else "ascend-toolkit", **words)
        path = self.packages / file
        self._write(path, INSTALLER.format(record=self.record, ascend=self.ascend, body=body))
        return path

    def supply(self, made: Plan) -> None:
        """Puts every installer of a plan into the folder of packages; `*` in a name becomes a number."""
        renamed = releases.key(made.candidate.cann) >= releases.key("8.5.0")
        for package in made.packages:
            version = package.version or "7.1.0.1.1"
            old = f"A800-9000-npu-{package.kind}_{version}_linux-{self.arch}.run"
            file = old if package.installer.startswith("*") else package.installer.replace("*", version)
            self.installer(package.kind, file, version, renamed=renamed)
        row = installation.row_for("wheels", made.candidate.cann)
        if row:
            wheels = self.ascend / row["folder"]
            wheels.mkdir(parents=True)
            for name in ("te-0.4.0-py3-none-any.whl", "hccl-0.1.0-py3-none-any.whl"):
                (wheels / name).touch()

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TORCH_INDEX": "file:///cpu-builds",
            "ASCEND": str(self.ascend),
            "PACKAGES": str(self.packages),
            "LIMITS": str(self.folder / "limits.conf"),
            "LOG": str(self.folder / "log"),
            "UNITS": str(self.folder / "units"),
            "BOOT_ID": str(self.state / "boot"),
        }

    def calls(self, *starts: str) -> list[str]:
        """The recorded calls whose first word starts with one of these."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [line for line in lines if line.startswith(starts)]

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)
