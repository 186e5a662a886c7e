"""What transformers knows of each type of model: defaults of a config.json, and whether our sizes agree.

`python tools/refresh_parallel_types.py` writes src/jumar/data/parallel_types.json. Every type is built from its default
configuration on the meta device, without memory, and its parameters are counted; `jumar.parallel.configs` reads the
same configuration as a file. A type that is refused, or that transformers cannot build, has no difference.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from jumar.core.errors import UserError
from jumar.parallel import configs
from jumar.parallel.config_file import ConfigFile
from jumar.parallel.network import Network
from jumar.tables.load import table

FILE = Path(__file__).parents[1] / "src" / "jumar" / "data" / "parallel_types.json"
NEAR = 0.01
MAPPINGS = ("CAUSAL_LM", "MASKED_LM", "IMAGE_CLASSIFICATION")
FURTHER = (
    "tie_word_embeddings", "hidden_act", "hidden_activation", "activation_function", "moe_intermediate_size",
    "shared_expert_intermediate_size", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
    "v_head_dim", "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval", "multi_query",
    "new_decoder_architecture",
)  # fmt: skip
"""Keys whose defaults are kept beside those of parallel_configs.toml."""


def types() -> dict[str, str]:
    """Each type with the automatic class that builds it."""
    from transformers.models.auto import modeling_auto

    found: dict[str, str] = {}
    for name in MAPPINGS:
        for kind in getattr(modeling_auto, f"MODEL_FOR_{name}_MAPPING_NAMES"):
            found.setdefault(kind, f"AutoModelFor{name.title().replace('_', '').replace('Lm', 'LM')}")
    return found


def defaults(config: Any) -> dict[str, Any]:
    """What the class gives to keys that a file leaves out; not what it derives from other keys."""
    wanted = {*FURTHER, *(key for row in table("parallel_configs.toml")["keys"].values() for key in row)}
    fields = {field.name: field.default for field in dataclasses.fields(config)}
    return {key: value for key, value in fields.items()
            if key in wanted and isinstance(value, (int, str)) and not isinstance(value, property)}  # fmt: skip


def counted(config: Any, maker: str) -> int:
    """Parameters of the model that transformers builds."""
    import torch
    import transformers

    with torch.device("meta"):
        model = getattr(transformers, maker).from_config(config)
    return sum(weight.numel() for weight in model.parameters())


def read(data: dict[str, Any]) -> tuple[Network, list[str], bool]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_text(json.dumps(data, default=str), encoding="utf-8")
        file = ConfigFile(path)
        net = configs.network(file)
        return net, file.unread(), file.kind != data["model_type"]


def row(kind: str, maker: str) -> dict[str, Any] | None:
    """What is known of a type; None for one that is refused, cannot be built, or has a text part with a type."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.for_model(kind)
        net, unread, inner = read({**config.to_dict(), "model_type": kind})
        if inner:
            return None
    except UserError as error:
        print(f"{kind}: {str(error).split(': ', 1)[-1]}"[:160], file=sys.stderr)
        return None
    except Exception as error:  # any of several hundred classes may want a package that is not here
        print(f"{kind}: {type(error).__name__}: {error}"[:160], file=sys.stderr)
        return None
    found: dict[str, Any] = {"defaults": defaults(config)}
    try:
        found["difference"] = round(net.parameters / counted(config, maker) - 1, 4)
    except Exception as error:
        print(f"{kind}: {type(error).__name__}: {error}"[:160], file=sys.stderr)
    if unread:
        found["unread"] = unread
    return found


def main() -> None:
    FILE.write_text('{"near": 0.01, "types": {}}', encoding="utf-8")  # no type is filled up or refused by what is known
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    sys.modules["torch_npu"] = None  # type: ignore[assignment]  # the meta device needs no NPU
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    import transformers

    rows = {kind: row(kind, maker) for kind, maker in sorted(types().items())}
    head = {"source": f"transformers {transformers.__version__}: default configurations on the meta device",
            "date": time.strftime("%Y-%m-%d"), "tool": "tools/refresh_parallel_types.py", "near": NEAR}  # fmt: skip
    lines = ",\n  ".join(f"{json.dumps(kind)}: {json.dumps(found)}" for kind, found in rows.items() if found)
    start = json.dumps(head, indent=1)[:-2]
    FILE.write_text(f'{start},\n "types": {{\n  {lines}\n }}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
