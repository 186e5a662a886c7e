#!/usr/bin/env bash
# torch 2.6.0, CANN 8.5.0, Python 3.10, A2, x86_64
# Written by `jumar plan`. Run it as yourself: steps that need root use sudo, the others never do. sudo may ask for your
# password once at the start; nothing else asks. It skips what is already done, writes to $LOG and $STATE and stops at
# the first failure; run it again to continue. With REBOOT=1 it restarts the machine where the driver needs it, and
# continues by itself afterwards. Never tried on an NPU. Set ASCEND, PACKAGES, VENV, PYTHON, LOG or STATE before
# starting to change a place.
# shellcheck disable=SC2317,SC2329
set -uo pipefail

PLAN_USER=${PLAN_USER:-"${SUDO_USER:-$(id -un)}"}
PLAN_HOME=${PLAN_HOME:-"$(getent passwd "$PLAN_USER" | cut -d: -f6)"}
ASCEND=${ASCEND:-/usr/local/Ascend}
PACKAGES=${PACKAGES:-$PWD}
VENV=${VENV:-$PLAN_HOME/ascend-env}
PYTHON=${PYTHON:-python3.10}
WORK=${WORK:-$PLAN_HOME/.cache/jumar}
LIMITS=${LIMITS:-/etc/security/limits.d/99-ascend.conf}
ENVIRONMENTS=${ENVIRONMENTS:-cann/set_env.sh ascend-toolkit/set_env.sh}
REFERER=${REFERER:-https://www.hiascend.com/}
TORCH_INDEX=${TORCH_INDEX:-}
TORCH_PAGE=${TORCH_PAGE:-https://pytorch.org/get-started/previous-versions/}
PLAN_PATH=${PLAN_PATH:-"$PATH"}
export PLAN_USER PLAN_HOME ASCEND PACKAGES VENV PYTHON WORK LIMITS ENVIRONMENTS REFERER TORCH_INDEX TORCH_PAGE PLAN_PATH
LOG=${LOG:-$PWD/jumar-plan.log}
STATE=${STATE:-$LOG.state}
BOOT_ID=${BOOT_ID:-/proc/sys/kernel/random/boot_id}
UNITS=${UNITS:-/etc/systemd/system}
REBOOT=${REBOOT:-0}
SCRIPT=$(realpath "$0")
PLAN='torch 2.6.0, CANN 8.5.0, Python 3.10, A2, x86_64'
RESUME="ASCEND PACKAGES VENV PYTHON WORK LIMITS PLAN_USER PLAN_HOME ENVIRONMENTS REFERER TORCH_INDEX TORCH_PAGE PLAN_PATH LOG STATE BOOT_ID UNITS REBOOT"
steps=21

newest() { # PATTERN: the file in $PACKAGES with the highest number
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

say() { printf '%s\n' "$*" | tee -a "$LOG"; }

quoted() { # WORDS: as one line for sh
  local word one="'" four="'\\''"
  for word; do printf "'%s' " "${word//$one/$four}"; done
}

joined() { # is the user in the group of the driver, but this session not yet?
  id -nG "$PLAN_USER" 2>/dev/null | grep -qw "HwHiAiUser" && ! id -nG | grep -qw "HwHiAiUser"
}

call() { # WHO FUNCTION: run a step's function as root or as the user of this plan
  local who=$1 code pass=() name
  code="$(declare -f); set -eo pipefail; $2"
  for name in ASCEND PACKAGES VENV PYTHON WORK LIMITS PLAN_USER PLAN_HOME ENVIRONMENTS REFERER TORCH_INDEX TORCH_PAGE PLAN_PATH LOG STATE BOOT_ID UNITS REBOOT SCRIPT RESUME; do pass+=("$name=${!name}"); done
  if [ "$who" = root ] && [ "$(id -u)" != 0 ]; then
    sudo -n env "${pass[@]}" bash -c "$code"
  elif [ "$who" = user ] && [ "$(id -u)" = 0 ] && [ "$PLAN_USER" != root ]; then
    sudo -n -u "$PLAN_USER" -H env "${pass[@]}" bash -c "$code"
  elif [ "$who" = user ] && [ "$(id -u)" != 0 ] && joined; then
    if command -v sg >/dev/null; then
      sg "HwHiAiUser" -c "$(quoted env "${pass[@]}" bash -c "$code")"
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

if [ "$(uname -m)" != "x86_64" ]; then
  echo "this plan is for x86_64, and this machine is $(uname -m)" >&2
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

become_root
do_prerequisites() {
  apt-get update
  apt-get install -y dkms gcc make "linux-headers-$(uname -r)" net-tools pciutils g++ cmake zlib1g zlib1g-dev openssl libsqlite3-dev libssl-dev libffi-dev unzip libblas-dev gfortran libblas3 patchelf curl git
}
done_prerequisites() {
  dpkg -s dkms gcc make "linux-headers-$(uname -r)" net-tools pciutils g++ cmake zlib1g zlib1g-dev openssl libsqlite3-dev libssl-dev libffi-dev unzip libblas-dev gfortran libblas3 patchelf curl git >/dev/null
}

do_system_python() {
  apt-get install -y python3.10 python3.10-venv || true
}
done_system_python() {
  python_maker
}

do_python_found() {
  python_maker
}
done_python_found() {
  python_maker
}

do_torch_index() {
  mkdir -p "$WORK"
  torch_index >"$WORK/torch-index.part"
  mv "$WORK/torch-index.part" "$WORK/torch-index"
}
done_torch_index() {
  test -n "$TORCH_INDEX" || test -s "$WORK/torch-index"
}

do_packages() {
  { has_version "$ASCEND/driver/version.info" 25.5.0; } 2>/dev/null || get "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run" "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run" "" "https://www.hiascend.com/hardware/firmware-drivers/community"
  { has_version "$ASCEND/firmware/version.info" "$(version_of "$(newest "Ascend-hdk-910b-npu-firmware_*.run")")"; } 2>/dev/null || get "Ascend-hdk-910b-npu-firmware_*.run" "Ascend-hdk-910b-npu-firmware_*.run" "" "https://www.hiascend.com/hardware/firmware-drivers/community"
  { has_version "$ASCEND/cann-8.5.0/x86_64-linux/ascend_toolkit_install.info" 8.5.0; } 2>/dev/null || get "Ascend-cann-toolkit_8.5.0_linux-x86_64.run" "Ascend-cann-toolkit_8.5.0_linux-x86_64.run" "https://ascend-repo.obs.cn-east-2.myhuaweicloud.com/CANN/CANN%208.5.0/Ascend-cann-toolkit_8.5.0_linux-x86_64.run" "https://www.hiascend.com/developer/download/community/result?module=cann"
  { has_version "$ASCEND/cann-8.5.0/x86_64-linux/ascend_ops_install.info" 8.5.0; } 2>/dev/null || get "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run" "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run" "https://ascend-repo.obs.cn-east-2.myhuaweicloud.com/CANN/CANN%208.5.0/Ascend-cann-910b-ops_8.5.0_linux-x86_64.run" "https://www.hiascend.com/developer/download/community/result?module=cann"
  { test -d "$ASCEND/nnal/atb/8.5.0"; } 2>/dev/null || get "Ascend-cann-nnal_8.5.0_linux-x86_64.run" "Ascend-cann-nnal_8.5.0_linux-x86_64.run" "https://ascend-repo.obs.cn-east-2.myhuaweicloud.com/CANN/CANN%208.5.0/Ascend-cann-nnal_8.5.0_linux-x86_64.run" "https://www.hiascend.com/developer/download/community/result?module=cann"
}
done_packages() {
  { { has_version "$ASCEND/driver/version.info" 25.5.0; } 2>/dev/null || checked "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run"; } &&
  { { has_version "$ASCEND/firmware/version.info" "$(version_of "$(newest "Ascend-hdk-910b-npu-firmware_*.run")")"; } 2>/dev/null || checked "Ascend-hdk-910b-npu-firmware_*.run"; } &&
  { { has_version "$ASCEND/cann-8.5.0/x86_64-linux/ascend_toolkit_install.info" 8.5.0; } 2>/dev/null || checked "Ascend-cann-toolkit_8.5.0_linux-x86_64.run"; } &&
  { { has_version "$ASCEND/cann-8.5.0/x86_64-linux/ascend_ops_install.info" 8.5.0; } 2>/dev/null || checked "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run"; } &&
  { { test -d "$ASCEND/nnal/atb/8.5.0"; } 2>/dev/null || checked "Ascend-cann-nnal_8.5.0_linux-x86_64.run"; }
}

do_user() {
  getent group HwHiAiUser >/dev/null || groupadd HwHiAiUser
  id HwHiAiUser >/dev/null 2>&1 || useradd -g HwHiAiUser -d /home/HwHiAiUser -m HwHiAiUser -s /bin/bash
  if [ "$PLAN_USER" != root ]; then usermod -aG HwHiAiUser "$PLAN_USER"; fi
}
done_user() {
  id HwHiAiUser && { [ "$PLAN_USER" = root ] || id -nG "$PLAN_USER" | grep -qw HwHiAiUser; }
}

do_driver() {
  if [ -e "$ASCEND/driver/version.info" ]; then
    echo "another driver is installed, and this plan is for a first install: plan again with --overwrite" >&2
    exit 1
  fi
  bash "$(newest "Ascend-hdk-910b-npu-driver_25.5.0_linux-x86_64.run")" --full --install-for-all --quiet
}
done_driver() {
  has_version "$ASCEND/driver/version.info" 25.5.0
}

do_firmware() {
  bash "$(newest "Ascend-hdk-910b-npu-firmware_*.run")" --full --quiet
}
done_firmware() {
  has_version "$ASCEND/firmware/version.info" "$(version_of "$(newest "Ascend-hdk-910b-npu-firmware_*.run")")"
}

do_devices() {
  npu-smi info || {
    echo "npu-smi does not answer: restart the machine, then run this again: it continues here" >&2
    exit 1
  }
}
done_devices() {
  npu-smi info
}

do_toolkit() {
  mkdir -p "$ASCEND"
  bash "$(newest "Ascend-cann-toolkit_8.5.0_linux-x86_64.run")" --quiet --install --install-for-all --install-path="$ASCEND"
}
done_toolkit() {
  has_version "$ASCEND/cann-8.5.0/x86_64-linux/ascend_toolkit_install.info" 8.5.0
}

do_ops() {
  use_cann
  mkdir -p "$ASCEND"
  bash "$(newest "Ascend-cann-910b-ops_8.5.0_linux-x86_64.run")" --quiet --install --install-for-all --install-path="$ASCEND"
}
done_ops() {
  has_version "$ASCEND/cann-8.5.0/x86_64-linux/ascend_ops_install.info" 8.5.0
}

do_nnal() {
  use_cann
  mkdir -p "$ASCEND"
  bash "$(newest "Ascend-cann-nnal_8.5.0_linux-x86_64.run")" --quiet --install --install-for-all --install-path="$ASCEND"
}
done_nnal() {
  test -d "$ASCEND/nnal/atb/8.5.0"
}

do_environment() {
  line="source $(cann_environment)"
  grep -qxF "$line" "$PLAN_HOME/.bashrc" 2>/dev/null || echo "$line" >>"$PLAN_HOME/.bashrc"
}
done_environment() {
  line="source $(cann_environment)"
  grep -qxF "$line" "$PLAN_HOME/.bashrc"
  use_cann
  test -n "${ASCEND_OPP_PATH:-}"
}

do_limits() {
  mkdir -p "$(dirname "$LIMITS")"
  printf '* soft nofile 65535\n* hard nofile 65535\n* soft nproc unlimited\n* hard nproc unlimited\n' >"$LIMITS"
}
done_limits() {
  grep -q "nproc unlimited" "$LIMITS"
}

do_python() {
  maker=$(python_maker)
  PATH=$PLAN_PATH
  case "$maker" in
    venv) "$PYTHON" -m venv "$VENV" ;;
    uv) uv venv --seed --python 3.10 "$VENV" ;;
    *) "$maker" create -y -p "$VENV" python=3.10 pip ;;
  esac
}
done_python() {
  "$VENV/bin/python" -c "import sys; sys.exit(sys.version_info[:2] != (3, 10))"
}

do_python_packages() {
  "$VENV/bin/python" -m pip install 'numpy>=1.19.2,<2.0' attrs cython decorator sympy cffi pyyaml pathlib2 psutil 'protobuf==3.20.*' scipy requests absl-py
}
done_python_packages() {
  "$VENV/bin/python" -c "import attr, cffi, decorator, google.protobuf, numpy, psutil, requests, scipy, sympy, yaml"
}

do_torch() {
  "$VENV/bin/python" -m pip install torch==2.6.0+cpu --index-url "$(torch_index)"
}
done_torch() {
  has_package torch 2.6.0
}

do_torch_npu() {
  "$VENV/bin/python" -m pip install torch_npu==2.6.0.post5
}
done_torch_npu() {
  has_package torch_npu 2.6.0.post5
}

do_torchvision() {
  "$VENV/bin/python" -m pip install torchvision==0.21.0+cpu --index-url "$(torch_index)"
}
done_torchvision() {
  has_package torchvision 0.21.0
}

do_torchaudio() {
  "$VENV/bin/python" -m pip install torchaudio==2.6.0+cpu --index-url "$(torch_index)"
}
done_torchaudio() {
  has_package torchaudio 2.6.0
}

do_proof() {
  use_cann
  "$VENV/bin/python" -c "import torch, torch_npu; a = torch.randn(3, 4).npu(); print(a + a)"
}
done_proof() {
  use_cann
  "$VENV/bin/python" -c "import torch, torch_npu; a = torch.randn(3, 4).npu(); print(a + a)"
}

step root prerequisites 'Install compilers, kernel headers and tools' "nothing: these are ordinary system packages"
step root system_python 'Install Python 3.10 where the system has it' "nothing: these are ordinary system packages"
step user python_found 'Find what makes an environment with Python 3.10' "nothing: this only checks"
step user torch_index 'Find PyTorch'"'"'s CPU builds' "rm \"$WORK/torch-index\""
step user packages 'Get the packages and verify them' "nothing: files in $PACKAGES can stay"
step root user 'Create the user and group HwHiAiUser' "userdel -r HwHiAiUser, if this step made it"
step root driver 'Install the driver' "run $ASCEND/driver/script/uninstall.sh as root, then restart"
step root firmware 'Install the firmware' "run $ASCEND/firmware/script/uninstall.sh as root, then restart"
step user devices 'Check that the driver answers' "nothing: this only checks" restart
step root toolkit 'Install the CANN toolkit' "bash Ascend-cann-toolkit_8.5.0_linux-x86_64.run --uninstall --install-path=$ASCEND (as root)"
step root ops 'Install the operator package' "bash Ascend-cann-910b-ops_8.5.0_linux-x86_64.run --uninstall --install-path=$ASCEND (as root)"
step root nnal 'Install the acceleration library (nnal)' "bash Ascend-cann-nnal_8.5.0_linux-x86_64.run --uninstall --install-path=$ASCEND (as root)"
step user environment 'Load CANN'"'"'s environment in every shell' "remove the line with set_env.sh from ~/.bashrc"
step root limits 'Raise the limits for open files and processes' "rm /etc/security/limits.d/99-ascend.conf"
step user python 'Create an environment with Python 3.10' "rm -r \"$VENV\""
step user python_packages 'Install the Python packages that CANN imports' "\"$VENV/bin/python\" -m pip uninstall -y numpy attrs cython decorator sympy cffi pyyaml pathlib2 psutil protobuf scipy requests absl-py"
step user torch 'Install torch 2.6.0' "\"$VENV/bin/python\" -m pip uninstall -y torch"
step user torch_npu 'Install torch_npu 2.6.0.post5' "\"$VENV/bin/python\" -m pip uninstall -y torch_npu"
step user torchvision 'Install torchvision 0.21.0' "\"$VENV/bin/python\" -m pip uninstall -y torchvision"
step user torchaudio 'Install torchaudio 2.6.0' "\"$VENV/bin/python\" -m pip uninstall -y torchaudio"
step user proof 'Check that torch computes on the NPU' "nothing: this only checks"
if [ -e "$UNITS/jumar-plan.service" ]; then call root resumed >>"$LOG" 2>&1; fi
say "all $steps steps are done"
