#!/usr/bin/env bash
# Starts a distributed training script on the NPUs of this machine: one process per card, each bound to its own cores.
#
#   bash run_distributed_npu.sh [-n CARDS] [-p PORT] [-l LOG_FOLDER] [-b auto|none|CORES] SCRIPT.py [ARGUMENTS...]
#
#   -n  number of cards (default: all in ASCEND_RT_VISIBLE_DEVICES, else all under /dev/davinci*)
#   -p  port for the meeting of the processes (default: a free one)
#   -l  folder of the logs rank_0.log, rank_1.log, ... (default: logs); rank 0 is also shown here
#   -b  cores per card: `auto` divides the cores that this shell may use (usually 24 per card on a Kunpeng server with
#       8 cards), a number sets them, `none` binds nothing
#
# It waits for all processes. When one fails, the others are ended and its exit code is returned.
# The same with torchrun (no core binding):
#   torchrun --standalone --nproc_per_node=CARDS SCRIPT.py [ARGUMENTS...]
# More machines: torchrun --nnodes=N --node_rank=I --master_addr=HOST --master_port=PORT --nproc_per_node=CARDS SCRIPT.py
set -u

usage() {
    sed -n '2,12p' "$0" | sed 's/^# \{0,1\}//'
}

fail() {
    echo "error: $1" >&2
    exit 2
}

cards="" port="" logs="logs" bind="auto"
while getopts "n:p:l:b:h" option; do
    case "$option" in
        n) cards="$OPTARG" ;;
        p) port="$OPTARG" ;;
        l) logs="$OPTARG" ;;
        b) bind="$OPTARG" ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { usage >&2; exit 2; }

visible_cards() {
    if [ -n "${ASCEND_RT_VISIBLE_DEVICES:-}" ]; then
        echo "$ASCEND_RT_VISIBLE_DEVICES" | tr ',' '\n' | grep -c .
        return
    fi
    local found=0 device
    for device in /dev/davinci[0-9]*; do
        [ -e "$device" ] && found=$((found + 1))
    done
    echo "$found"
}

python="${PYTHON:-python3}"
[ -n "$cards" ] || cards="$(visible_cards)"
case "$cards" in
    '' | *[!0-9]*) fail "the number of cards is not a number: $cards" ;;
    0) fail "no card found; say how many processes to start with -n" ;;
esac
if [ -z "$port" ]; then
    port="$("$python" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')" ||
        fail "no free port found; give one with -p"
fi
mkdir -p "$logs" || fail "cannot make the folder $logs"

# Writes 0-2,5 as 0 1 2 5, one per line.
expand() {
    local part
    for part in $(echo "$1" | tr ',' ' '); do
        seq "${part%-*}" "${part#*-}"
    done
}

# The cores this shell may use, NUMA node by NUMA node: cards are spread evenly over the nodes.
allowed_cores() {
    local allowed node core nodes=""
    allowed=" $(expand "$(taskset -cp $$ 2> /dev/null | sed 's/.*: //')" | tr '\n' ' ') "
    for node in /sys/devices/system/node/node[0-9]*/cpulist; do
        [ -r "$node" ] && nodes="$nodes ${node//[!0-9]/}"
    done
    if [ -z "$nodes" ]; then
        echo "$allowed" | tr -s ' ' '\n' | grep .
        return
    fi
    for node in $(echo "$nodes" | tr ' ' '\n' | sort -n); do
        for core in $(expand "$(cat "/sys/devices/system/node/node$node/cpulist")"); do
            case "$allowed" in *" $core "*) echo "$core" ;; esac
        done
    done
}

cores=()
per_card=0
if [ "$bind" != none ] && command -v taskset > /dev/null; then
    while read -r core; do cores+=("$core"); done < <(allowed_cores)
    per_card=$((${#cores[@]} / cards))
    if [ "$bind" != auto ]; then
        case "$bind" in *[!0-9]*) fail "not a number of cores: $bind" ;; esac
        [ "$bind" -le "$per_card" ] || echo "warning: only $per_card cores per card are there, $bind asked for" >&2
        [ "$bind" -lt "$per_card" ] && per_card="$bind"
    fi
fi

pids=()
end_all() {
    local pid
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2> /dev/null; done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        local alive=0
        for pid in "${pids[@]}"; do kill -0 "$pid" 2> /dev/null && alive=1; done
        [ "$alive" = 0 ] && return
        sleep 0.5
    done
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2> /dev/null; done
}
trap 'end_all; exit 130' INT
trap 'end_all; exit 143' TERM

export MASTER_ADDR="${MASTER_ADDR:-127.0.0.1}" MASTER_PORT="$port"
export WORLD_SIZE="$cards" LOCAL_WORLD_SIZE="$cards"
[ -n "${OMP_NUM_THREADS:-}" ] || [ "$per_card" -lt 1 ] || export OMP_NUM_THREADS="$per_card"

for ((rank = 0; rank < cards; rank++)); do
    command=("$python" -u "$@")
    where="any core"
    if [ "$per_card" -ge 1 ]; then
        mine="$(IFS=,; echo "${cores[*]:rank * per_card:per_card}")"
        command=(taskset -c "$mine" "${command[@]}")
        where="cores $mine"
    fi
    if [ "$rank" = 0 ]; then
        RANK="$rank" LOCAL_RANK="$rank" "${command[@]}" > >(tee "$logs/rank_0.log") 2>&1 &
    else
        RANK="$rank" LOCAL_RANK="$rank" "${command[@]}" > "$logs/rank_$rank.log" 2>&1 &
    fi
    pids+=("$!")
    echo "rank $rank: process $!, $where, log $logs/rank_$rank.log" >&2
done

# `wait -n` misses processes that have ended already in older shells, so look at each.
code=0
ended=" "
left="$cards"
while [ "$left" -gt 0 ]; do
    for pid in "${pids[@]}"; do
        case "$ended" in *" $pid "*) continue ;; esac
        kill -0 "$pid" 2> /dev/null && continue
        wait "$pid"
        code=$?
        ended="$ended$pid "
        left=$((left - 1))
        if [ "$code" -ne 0 ]; then
            echo "error: process $pid ended with exit code $code; ending the others (see $logs/)" >&2
            end_all
            wait
            exit "$code"
        fi
    done
    [ "$left" -eq 0 ] || sleep 0.2
done
wait
exit 0
