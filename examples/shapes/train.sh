#!/usr/bin/env bash
# Start a training run on the card given as the first argument (default: card 0).
set -euo pipefail
cd "$(dirname "$0")"

export CUDA_VISIBLE_DEVICES="${1:-0}"
export CUDA_LAUNCH_BLOCKING=0

nvidia-smi
python train.py --config config.yaml --output "out/$(date +%Y%m%d-%H%M%S)"
