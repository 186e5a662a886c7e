"""The options of the runner, as its guide names them (ait/msit benchmark; Ascend/tools ais_bench)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

REFUSED = ("profiler", "dump", "acl_json_path", "aipp_config", "energy_consumption", "dump_npy", "backend", "perf")
"""Options that need a device or a tool of CANN."""
OFF = ("", "0", "false", "no", "f", "n")


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m ais_bench", allow_abbrev=False)
    add = parser.add_argument
    add("--model", "-m", "--om_path", required=True, help="stand-in that `jumar export om` wrote")
    add("--input", "-i", help="files or folders, separated by commas")
    add("--output", "-o", help="folder for the results")
    add("--output_dirname", help="name of the folder below it; the time of the run without this")
    add("--outfmt", default="BIN", choices=["NPY", "BIN", "TXT"])
    add("--loop", "-l", type=_positive, default=1, help="runs of each input")
    add("--debug", type=_switch, default=False, help="print the model")
    add("--device", "-d", type=_devices, default=[0], help="number of the device, or several")
    add("--dymBatch", type=int, default=0)
    add("--dymHW")
    add("--dymDims")
    add("--dymShape")
    add("--dymShape_range", help='such as "x:1~4,3,224-448,224": every combination is run')
    add("--outputSize", help="taken and not needed: outputs have the room they need")
    for name in ("auto_set_dymshape_mode", "auto_set_dymdims_mode", "display_all_summary", "pipeline", "divide_input"):
        add(f"--{name}", type=_switch, default=False)
    add("--batchsize", type=_positive)
    add("--pure_data_type", default="zero", choices=["zero", "random"])
    add("--output_batchsize_axis", type=_count, default=0)
    add("--run_mode", default="array", choices=["array", "files", "tensor", "full"])
    add("--warmup_count", type=_count, default=1)
    add("--threads", type=_positive, default=1, help="taken: runs follow one another here")
    for name in REFUSED:
        add(f"--{name}", help=argparse.SUPPRESS)
    found = parser.parse_args(list(words))
    for name in REFUSED:
        if str(getattr(found, name) or "").lower() not in OFF:
            parser.error(f"--{name} needs a device: it is not in the stand-in")
    if found.output_dirname and not found.output:
        parser.error("--output_dirname needs --output")
    return found


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"`{text}` is below 0")
    return number


def _switch(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "t", "y"):
        return True
    if text.lower() in OFF:
        return False
    raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")


def _devices(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if not all(0 <= number <= 255 for number in numbers):
        raise argparse.ArgumentTypeError(f"`{text}`: devices are 0 to 255")
    return numbers
