"""A plan as a bash script that can be run again: it skips what is done and stops at the first failure."""

from __future__ import annotations

import shlex

from jumar.machine.plan.build import Plan
from jumar.machine.plan.prelude import FUNCTIONS, NAMES, assignments
from jumar.machine.plan.step import InstallStep
from jumar.machine.plan.steps import GROUP

HEAD = """#!/usr/bin/env bash
# {what}
# Written by `jumar plan`. Run it as yourself: steps that need root use sudo, the others never do. sudo may ask for your
# password once at the start; nothing else asks. It skips what is already done, writes to $LOG and $STATE and stops at
# the first failure; run it again to continue. With REBOOT=1 it restarts the machine where the driver needs it, and
# continues by itself afterwards. Never tried on an NPU. Set {names}, LOG or STATE before
# starting to change a place.
# shellcheck disable=SC2317,SC2329
set -uo pipefail
"""

ENGINE = r"""
say() { printf '%s\n' "$*" | tee -a "$LOG"; }

quoted() { # WORDS: as one line for sh
  local word one="'" four="'\\''"
  for word; do printf "'%s' " "${word//$one/$four}"; done
}

joined() { # is the user in the group of the driver, but this session not yet?
  id -nG "$PLAN_USER" 2>/dev/null | grep -qw "@GROUP@" && ! id -nG | grep -qw "@GROUP@"
}

call() { # WHO FUNCTION: run a step's function as root or as the user of this plan
  local who=$1 code pass=() name
  code="$(declare -f); set -eo pipefail; $2"
  for name in @NAMES@; do pass+=("$name=${!name}"); done
  if [ "$who" = root ] && [ "$(id -u)" != 0 ]; then
    sudo -n env "${pass[@]}" bash -c "$code"
  elif [ "$who" = user ] && [ "$(id -u)" = 0 ] && [ "$PLAN_USER" != root ]; then
    sudo -n -u "$PLAN_USER" -H env "${pass[@]}" bash -c "$code"
  elif [ "$who" = user ] && [ "$(id -u)" != 0 ] && joined; then
    if command -v sg >/dev/null; then
      sg "@GROUP@" -c "$(quoted env "${pass[@]}" bash -c "$code")"
    else
      sudo -n -u "$PLAN_USER" -H env "${pass[@]}" bash -c "$code"
    fi
  else
    env "${pass[@]}" bash -c "$code"
  fi
}

become_root() { # see that sudo works before anything is changed; it may ask once
  if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then return 0; fi
  if ! { [ -t 0 ] && sudo -v; }; then
    echo "steps of this plan need root, and sudo does not work without a password here" >&2
    echo "run this in a terminal, as root, or let the administrator run it; nothing was changed" >&2
    exit 1
  fi
  while sudo -n -v; do sleep 50; done </dev/null >/dev/null 2>&1 &
  keeper=$!
  trap 'kill "$keeper" 2>/dev/null' EXIT
}

boot() { cat "$BOOT_ID" 2>/dev/null || echo unknown; }

at=0
step() { # WHO NAME TITLE UNDO [restart]
  at=$((at + 1))
  if call "$1" "done_$2" >/dev/null 2>&1; then
    say "[$at/$steps] done already: $3"
    return
  fi
  say "[$at/$steps] $3"
  if ! call "$1" "do_$2" >>"$LOG" 2>&1; then
    if [ "${5:-}" = restart ]; then restart "$3" "$4"; fi
    stop "$3" "$4" "it failed"
  elif ! call "$1" "done_$2" >>"$LOG" 2>&1; then
    stop "$3" "$4" "it ended without an error, but its check says that it is not done"
  fi
  echo "$2 $(boot)" >>"$STATE"
}

restart() { # TITLE UNDO: the driver was installed since the machine started, or a restart did not help
  if ! grep -qE "^(driver|firmware) $(boot)\$" "$STATE"; then
    if grep -qE "^(driver|firmware) " "$STATE"; then
      stop "$1" "$2" "the machine was restarted since, and the driver does not answer: see dmesg and jumar doctor"
    fi
    return
  fi
  if [ "$REBOOT" != 1 ]; then return; fi
  say "restarting the machine; this continues by itself"
  if ! call root resume_later >>"$LOG" 2>&1; then stop "$1" "$2" "the machine cannot be made to continue by itself"; fi
  call root restart_now >>"$LOG" 2>&1
  exit 0
}

resume_later() { # a unit that runs this script once after the restart, as root for the user of this plan
  mkdir -p "$UNITS"
  {
    printf '[Unit]\nDescription=continue jumar plan\nAfter=network-online.target\nWants=network-online.target\n'
    printf '[Service]\nType=oneshot\nWorkingDirectory=%s\n' "$PWD"
    for name in $RESUME; do
      printf 'Environment="%s=%s"\n' "$name" "$(printf %s "${!name}" | sed 's/[\\"]/\\&/g; s/%/%%/g')"
    done
    printf 'ExecStart=/usr/bin/env bash "%s"\n[Install]\nWantedBy=multi-user.target\n' "$SCRIPT"
  } >"$UNITS/jumar-plan.service"
  systemctl daemon-reload && systemctl enable jumar-plan.service
}

restart_now() { systemctl reboot; }

resumed() { # take the unit away again
  systemctl disable jumar-plan.service && rm -f "$UNITS/jumar-plan.service"
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
if grep -qxF "plan $PLAN" "$STATE" 2>/dev/null; then
  say "this plan was started here before: what is done is skipped"
elif grep -q "^plan " "$STATE" 2>/dev/null; then
  say "another plan was carried out here before: $(sed -n 's/^plan //p' "$STATE" | tail -n 1)"
  echo "plan $PLAN" >>"$STATE"
else
  echo "plan $PLAN" >>"$STATE"
fi
"""
RESUMING = ("LOG", "STATE", "BOOT_ID", "UNITS", "REBOOT", "SCRIPT")
"""Variables of the engine that a restart must not lose."""


def script(made: Plan) -> str:
    """The whole script."""
    one = made.candidate
    names = (*NAMES, *RESUMING, "RESUME")
    engine = ENGINE.replace("@NAMES@", " ".join(names)).replace("@ARCH@", one.arch).replace("@GROUP@", GROUP)
    parts = [HEAD.format(what=one, names=", ".join(NAMES[:4]))]
    parts += [assignments(made.places), *_places(str(one)), f"steps={len(made.steps)}", ""]
    parts += [FUNCTIONS.rstrip(), engine]
    parts += ["become_root"] if any(step.root for step in made.steps) else []
    parts += [_functions(step) for step in made.steps]
    parts += [_call(step) for step in made.steps]
    parts.append('if [ -e "$UNITS/jumar-plan.service" ]; then call root resumed >>"$LOG" 2>&1; fi')
    parts.append('say "all $steps steps are done"')
    return "\n".join(parts) + "\n"


def _places(plan: str) -> list[str]:
    """The engine's own variables."""
    return [
        "LOG=${LOG:-$PWD/jumar-plan.log}",
        "STATE=${STATE:-$LOG.state}",
        "BOOT_ID=${BOOT_ID:-/proc/sys/kernel/random/boot_id}",
        "UNITS=${UNITS:-/etc/systemd/system}",
        "REBOOT=${REBOOT:-0}",
        'SCRIPT=$(realpath "$0")',
        f"PLAN={shlex.quote(plan)}",
        f'RESUME="{" ".join((*NAMES, *RESUMING[:-1]))}"',
    ]


def _functions(step: InstallStep) -> str:
    """Two functions per step; `||` chains and `exit` work in them because each runs in its own bash."""
    name = _name(step)
    return f"do_{name}() {{\n{_indent(step.do)}\n}}\ndone_{name}() {{\n{_indent(step.done)}\n}}\n"


def _call(step: InstallStep) -> str:
    who = "root" if step.root else "user"
    undo = step.undo.replace("\\", "\\\\").replace('"', '\\"')
    restart = " restart" if step.restart else ""
    return f'step {who} {_name(step)} {shlex.quote(step.title)} "{undo}"{restart}'


def _name(step: InstallStep) -> str:
    return step.id.replace("-", "_")


def _indent(code: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in code.splitlines())
