"""The `atc` of the emulated machine: takes the vendor's options, refuses what ATC would, writes a stand-in.

It prints as a program does, so it stands in for one; the real one's last line is kept, since scripts look for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from jumar.core.errors import UserError
from jumar.core.finding import Level
from jumar.core.nearest import did_you_mean
from jumar.export import check, command
from jumar.export.standin import om

USED = {"model", "framework", "output", "soc_version", "input_format", "input_shape", "dynamic_batch_size",
        "dynamic_image_size", "dynamic_dims", "precision_mode", "precision_mode_v2", "keep_dtype", "insert_op_conf",
        "output_type", "out_nodes", "mode", "input_fp16_nodes"}  # fmt: skip
IGNORED = {"log", "op_select_implmode", "optypelist_for_implmode", "op_precision_mode", "fusion_switch_file",
           "external_weight", "deterministic", "check_report", "op_debug_level", "op_compiler_cache_mode",
           "op_compiler_cache_dir", "buffer_optimize", "host_env_os", "host_env_cpu", "enable_small_channel",
           "aicore_num", "core_type", "disable_reuse_memory", "debug_dir", "auto_tune_mode", "op_bank_path",
           "mdl_bank_path", "weight", "display_model_info"}  # fmt: skip
"""Options that change speed, logs or places on a device, and nothing that a stand-in computes."""
ONNX = "5"


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        sys.stdout.write(
            "atc of the emulated machine: --model --framework=5 --output --soc_version [--input_shape ...]\n"
        )
        return 0
    try:
        sys.stdout.write(f"ATC start working now, please wait for a moment.\n{_convert(words)}\n")
        sys.stdout.write("ATC run success, welcome to the next use.\n")
        return 0
    except UserError as error:
        sys.stdout.write("ATC run failed, Please check the detail log, Try 'atc --help' for more information\n")
        sys.stderr.write(f"error: {error.message}\n" + (f"\nhint: {error.hint}\n" if error.hint else ""))
        return 1


def _convert(words: Sequence[str]) -> str:
    given = _options(words)
    for name in ("model", "framework", "output", "soc_version"):
        if name not in given:
            raise UserError(f"`--{name}` is missing", "`jumar export command MODEL --soc NAME` writes the line")
    if given["framework"] != ONNX or given.get("mode", "0") != "0":
        raise UserError("the stand-in converts ONNX models only", "--framework=5, without --mode")
    if "precision_mode" in given and "precision_mode_v2" in given:
        raise UserError("--precision_mode and --precision_mode_v2 exclude each other")
    request = command.AtcRequest(
        model=Path(given["model"]),
        soc=given["soc_version"],
        shapes=(given["input_shape"],) if given.get("input_shape") else (),
        batch=given.get("dynamic_batch_size"),
        image_size=given.get("dynamic_image_size"),
        dims=given.get("dynamic_dims"),
        precision=given.get("precision_mode") or given.get("precision_mode_v2"),
        form=given.get("input_format"),
        aipp=Path(given["insert_op_conf"]) if "insert_op_conf" in given else None,
        keep=Path(given["keep_dtype"]) if "keep_dtype" in given else None,
        output=Path(given["output"]),
        output_type=given.get("output_type"),
        out_nodes=given.get("out_nodes"),
        half_inputs=given.get("input_fp16_nodes"),
    )
    view, external = check.read(request.model)
    subject = check.Subject(request.model, view, external)
    found = [item for item in check.run(subject, check.units()) if item.level is Level.ERROR]
    if found:
        raise UserError(f"{found[0].id}: {found[0].message}", found[0].fix)
    path = om.save(command.build(request, view.inputs))
    return f"jumar: wrote `{os.path.relpath(path)}`, a stand-in that no device can load"


def _options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in USED | IGNORED:
            raise UserError(f"no such option: `{word}`", did_you_mean(name, USED | IGNORED, "see the vendor's list"))
        if not equals:
            if not rest:
                raise UserError(f"`{word}` has no value")
            value = rest.pop(0)
        found[name] = value.strip('"')
    return found
