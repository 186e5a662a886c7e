"""A plan as a bash script that can be run again: it skips what is done and stops at the first failure."""

from __future__ import annotations

import shlex

from jumar.machine.plan.build import Plan
from jumar.machine.plan.prelude import FUNCTIONS, NAMES, assignments
from jumar.machine.plan.step import InstallStep

HEAD = """#!/usr/bin/env bash
# {what}
# Written by `jumar plan`. Run it as yourself: steps that need root use sudo, the others never do. It asks nothing,
# skips what is already done, writes to $LOG and stops at the first failure; run it again to continue.
# Never tried on an NPU. Set {names} or LOG before starting to change a place.
# shellcheck disable=SC2317,SC2329
set -uo pipefail
"""

ENGINE = r"""
say() { printf '%s\n' "$*" | tee -a "$LOG"; }

call() { # WHO FUNCTION: run a step's function as root or as the user of this plan
  local who=$1 code pass=() name
  code="$(declare -f); set -eo pipefail; $2"
  for name in @NAMES@; do pass+=("$name=${!name}"); done
  if [ "$who" = root ] && [ "$(id -u)" != 0 ]; then
    sudo -n env "${pass[@]}" bash -c "$code"
  elif [ "$who" = user ] && [ "$(id -u)" = 0 ] && [ "$PLAN_USER" != root ]; then
    sudo -n -u "$PLAN_USER" -H env "${pass[@]}" bash -c "$code"
  else
    env "${pass[@]}" bash -c "$code"
  fi
}

at=0
step() { # WHO NAME TITLE UNDO
  at=$((at + 1))
  if call "$1" "done_$2" >/dev/null 2>&1; then
    say "[$at/$steps] done already: $3"
    return
  fi
  say "[$at/$steps] $3"
  if ! call "$1" "do_$2" >>"$LOG" 2>&1; then
    stop "$3" "$4" "it failed"
  elif ! call "$1" "done_$2" >>"$LOG" 2>&1; then
    stop "$3" "$4" "it ended without an error, but its check says that it is not done"
  fi
}

stop() { # TITLE UNDO WHY
  echo "stopped at step $at of $steps, $1: $3" >&2
  echo "the last lines of $LOG:" >&2
  tail -n 5 "$LOG" | sed 's/^/  /' >&2
  echo "to undo this step: $2" >&2
  echo "to go on: put it right and run this again" >&2
  exit 1
}

if [ "$(uname -m)" != "@ARCH@" ]; then
  echo "this plan is for @ARCH@, and this machine is $(uname -m)" >&2
  exit 1
fi
umask 0022
: >>"$LOG" || exit 1
printf '== %s\n' "$(date)" >>"$LOG"
"""


def script(made: Plan) -> str:
    """The whole script."""
    one = made.candidate
    parts = [HEAD.format(what=one, names=", ".join(NAMES[:4]))]
    parts += [assignments(made.places), "LOG=${LOG:-$PWD/jumar-plan.log}", f"steps={len(made.steps)}", ""]
    parts += [FUNCTIONS.rstrip()]
    parts += [ENGINE.replace("@NAMES@", " ".join(NAMES)).replace("@ARCH@", one.arch)]
    parts += [_functions(step) for step in made.steps]
    parts += [_call(step) for step in made.steps]
    parts.append('say "all $steps steps are done"')
    return "\n".join(parts) + "\n"


def _functions(step: InstallStep) -> str:
    """Two functions per step; `||` chains and `exit` work in them because each runs in its own bash."""
    name = _name(step)
    return f"do_{name}() {{\n{_indent(step.do)}\n}}\ndone_{name}() {{\n{_indent(step.done)}\n}}\n"


def _call(step: InstallStep) -> str:
    who = "root" if step.root else "user"
    undo = step.undo.replace("\\", "\\\\").replace('"', '\\"')
    return f'step {who} {_name(step)} {shlex.quote(step.title)} "{undo}"'


def _name(step: InstallStep) -> str:
    return step.id.replace("-", "_")


def _indent(code: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in code.splitlines())
