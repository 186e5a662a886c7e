#!/bin/sh
# $tool of the emulated machine; written by `jumar emulate prefix`. It needs packages, unlike npu-smi.
export JUMAR_PREFIX='$prefix' JUMAR_SOC="$${JUMAR_SOC:-$soc}" JUMAR_CARDS="$${JUMAR_CARDS:-$cards}"
$memory_line
exec '$python' -c 'import sys; sys.path[0] = "$packages"; from jumar.vendor import run; sys.exit(run("$tool"))' "$$@"
