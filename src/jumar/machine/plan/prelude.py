"""The bash that every step can use, for the script and for `--run`: variables, and a few functions."""

from __future__ import annotations

import shlex

from jumar.machine.plan.candidates import Candidate
from jumar.tables import installation

NAMES = (
    "ASCEND",
    "PACKAGES",
    "VENV",
    "PYTHON",
    "WORK",
    "LIMITS",
    "PLAN_USER",
    "PLAN_HOME",
    "ENVIRONMENTS",
    "REFERER",
    "TORCH_INDEX",
    "TORCH_PAGE",
    "PLAN_PATH",
)
"""Variables that steps read; they are handed on to whoever runs the step."""

FUNCTIONS = r"""newest() { # PATTERN: the file in $PACKAGES with the highest number
  find "$PACKAGES" -maxdepth 1 -iname "$1" | sort -V | tail -n 1
}
need() { # INSTALLER FILE URL PAGE: see that the installer is in $PACKAGES
  if [ -n "$(newest "$1")" ]; then return 0; fi
  if [ -z "$(newest "$2")" ]; then
    if [ -z "$3" ]; then
      echo "$2 is not in $PACKAGES: download it from $4" >&2
      return 1
    fi
    curl -fL --retry 3 -H "Referer: $REFERER" -o "$PACKAGES/$2.part" "$3"
    mv "$PACKAGES/$2.part" "$PACKAGES/$2"
  fi
  case "$2" in *.zip) unzip -o -q "$(newest "$2")" -d "$PACKAGES" ;; esac
  if [ -z "$(newest "$1")" ]; then
    echo "$2 does not hold $1" >&2
    return 1
  fi
}
checked() { # INSTALLER: is it here, and did its self-check pass since it came?
  local run
  run=$(newest "$1")
  [ -n "$run" ] && [ "$WORK/checked/$(basename "$run")" -nt "$run" ]
}
get() { # INSTALLER FILE URL PAGE: fetch it where needed, and let it check itself
  local run
  need "$@"
  run=$(newest "$1")
  bash "$run" --check
  mkdir -p "$WORK/checked"
  touch "$WORK/checked/$(basename "$run")"
}
version_of() { # INSTALLER: the version in its name
  basename "$1" | sed -E 's/^[^_]*_([^_]+)(_.*)?\.run$/\1/'
}
has_version() { # FILE VERSION: does the version file say this version?
  [ -n "$2" ] && grep -qixF "version=$2" "$1"
}
has_package() { # NAME [VERSION]: is it in the environment?
  local have
  have=$("$VENV/bin/python" -m pip show "$1" 2>/dev/null | sed -n 's/^Version: //p')
  have=${have%%+*}
  [ -n "$have" ] && [ "${2:-$have}" = "$have" ]
}
python_maker() { # what makes an environment with $PYTHON: itself, conda or uv
  if PATH=$PLAN_PATH "$PYTHON" -c "import ensurepip, venv" 2>/dev/null; then echo venv; return 0; fi
  local name
  for name in conda mamba micromamba uv; do
    if PATH=$PLAN_PATH command -v "$name" >/dev/null; then echo "$name"; return 0; fi
  done
  echo "$PYTHON is missing, and so are conda and uv: install one of them, or set PYTHON to its path" >&2
  return 1
}
torch_index() { # the address of PyTorch's CPU builds: $TORCH_INDEX, else the one that PyTorch's own page names
  if [ -n "$TORCH_INDEX" ]; then echo "$TORCH_INDEX"; return 0; fi
  if [ -s "$WORK/torch-index" ]; then cat "$WORK/torch-index"; return 0; fi
  { curl -fsSL --retry 3 "$TORCH_PAGE" || wget -qO- "$TORCH_PAGE"; } 2>/dev/null |
    grep -oE 'https://[A-Za-z0-9./_-]+/whl/cpu' | sort -u | grep -m 1 . && return 0
  echo "the address of PyTorch's CPU builds cannot be read from $TORCH_PAGE: set TORCH_INDEX" >&2
  return 1
}
cann_environment() { # where CANN's environment script is
  local name
  for name in $ENVIRONMENTS; do
    if [ -e "$ASCEND/$name" ]; then
      echo "$ASCEND/$name"
      return 0
    fi
  done
  echo "no environment script under $ASCEND: is the toolkit installed?" >&2
  return 1
}
use_cann() { # read it here; the vendor's script is not made for `set -e`
  local script
  script=$(cann_environment)
  set +e
  # shellcheck disable=SC1090
  source "$script"
  set -e
}
"""


def defaults(one: Candidate, prefix: str | None, packages: str | None, no_root: bool) -> dict[str, str]:
    """The values of the variables as bash words; a user can set each of them before starting the script."""
    row = installation.row_for("environment", one.cann)
    assert row is not None
    prefix, packages = (shlex.quote(place) if place else None for place in (prefix, packages))
    return {
        "PLAN_USER": '"${SUDO_USER:-$(id -un)}"',
        "PLAN_HOME": '"$(getent passwd "$PLAN_USER" | cut -d: -f6)"',
        "ASCEND": prefix or ("$PLAN_HOME/Ascend" if no_root else "/usr/local/Ascend"),
        "PACKAGES": packages or "$PWD",
        "VENV": "$PLAN_HOME/ascend-env",
        "PYTHON": f"python{one.python}",
        "WORK": "$PLAN_HOME/.cache/jumar",
        "LIMITS": "/etc/security/limits.d/99-ascend.conf",
        "ENVIRONMENTS": " ".join(row["files"]),
        "REFERER": installation.address("referer"),
        "TORCH_INDEX": "",
        "TORCH_PAGE": installation.address("torch_cpu_page"),
        "PLAN_PATH": '"$PATH"',
    }


def assignments(values: dict[str, str]) -> str:
    """The lines that set the variables where the user has not done so."""
    lines = [f"{name}=${{{name}:-{value}}}" for name, value in values.items()]
    return "\n".join([*lines, f"export {' '.join(values)}"])
