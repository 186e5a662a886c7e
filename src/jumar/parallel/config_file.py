"""A config.json before it is a network: its text part, what its type leaves unsaid, and which keys were read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jumar.core import read as contents
from jumar.core.errors import UserError
from jumar.tables.load import table

TEXT = ("text_config", "llm_config", "language_config", "thinker_config", "text_model_config", "lm_config")
"""Where models with several parts keep the one that reads text."""
OF_THE_WHOLE = ("model_type", "tie_word_embeddings", "is_encoder_decoder")
"""What a part has from the whole file where it does not say it itself."""
NESTED = ("attn_config", "ffn_config", "transformer_layer_config")
"""Parts of a file whose keys count as its own."""
SIZES = re.compile(
    r"(size|dim|width|rank|layers?|heads?|experts?|ffn|channels|groups?|kernel|ratio|depths?|inner)s?(_|$)"
)
"""Words in the name of a key that decides how large something is."""
HARMLESS = re.compile(
    r"(window|tokens?|rope|rotary|position|chunk|cache|batch|norm|dropout|drop|init|loss|aux|router|head_type|scal\w*|"
    r"pretraining_tp|quantization\w*|layer_types|bias|topk_group|n_group|use|add|tie|block|eps|std|range|jitter|ids?|"
    r"pad|padding|act|attention_types|labels|mask|prune\w*|summary|beam\w*|return|output|image|query_pre_attn\w*)(_|$)"
)
"""Words in the name of a key that leaves weights and activations as they are."""
SHOWN = 4
FAR = 0.1
"""A type whose parameters differ by more from those in transformers is refused."""


class ConfigFile:
    """The keys of the text part, over those of the attention and feed-forward parts inside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self.used: set[str] = {"model_type"}
        whole = _object(path)
        self.whole = str(whole.get("model_type") or "")
        self.data = self._text(whole)
        for name in NESTED:
            inner = self.data.get(name)
            if isinstance(inner, dict):
                self.used.add(name)
                self.data = {**self.data, **{key: value for key, value in inner.items() if key != "model_type"}}
        self.kind = str(self.data.get("model_type") or "")
        self.known: dict[str, Any] = table("parallel_types.json")["types"].get(self.kind, {})

    def _text(self, data: dict[str, Any]) -> dict[str, Any]:
        """The innermost part that reads text; it has the type and the ties of the whole where it names none itself."""
        name = next((name for name in TEXT if isinstance(data.get(name), dict)), "")
        if not name:
            return data
        said: dict[str, Any] = {key: data[key] for key in OF_THE_WHOLE if key in data}
        if not self.notes:
            self.notes.append(f"only the text model (`{name}`) counts")
        return self._text({**said, **data[name]})

    def fill(self, keys: dict[str, list[str]]) -> None:
        """What a file leaves out has the value that its type has in transformers; a key with null is not left out."""
        filled = []
        for name, default in self.known.get("defaults", {}).items():
            words = next((row for row in keys.values() if name in row), [name])
            if not any(word in self.data for word in words):
                self.data[name] = default
                if name in keys["layers"] + keys["hidden"] + keys["heads"] + keys["vocab"] + keys["inner"]:
                    filled.append(f"`{name}` {default}")
        if filled:
            self.notes.append(f"not in the file, so as `{self.kind}` has it in transformers: {', '.join(filled)}")

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, which counts as read."""
        self.used.add(key)
        return self.data.get(key, default)

    def unread(self) -> list[str]:
        """Keys that may decide a size and that nothing has read."""
        return [key for key, value in self.data.items() if key not in self.used and _sizes(key, value)]

    def wrong(self) -> str:
        """Why the sizes of a type are known to be wrong; empty if they are not."""
        difference = self.known.get("difference") or 0
        if abs(difference) <= FAR:
            return ""
        return f"has parts that Jumar does not know: its parameters differ by {100 * difference:+.0f} %"

    def doubts(self) -> list[str]:
        """What makes the sizes unsure: a type that was not compared, and keys that nobody reads."""
        said = []
        left = [f"`{key}`" for key in self.unread()]
        named = ", ".join(left[:SHOWN]) + (", …" if len(left) > SHOWN else "")
        difference = self.known.get("difference")
        if difference is None and self.kind not in table("parallel_configs.toml")["published"]["types"]:
            said.append(f"`{self.kind or 'no model_type'}` is not a type whose sizes were compared with transformers: "
                        "check the number of parameters")  # fmt: skip
        elif difference and abs(difference) > table("parallel_types.json")["near"]:
            said.append(
                f"the parameters of `{self.kind}` differed by {100 * difference:+.1f} % from those in transformers"
            )
        if left and (difference is None or set(self.unread()) - set(self.known.get("unread", ()))):
            said.append(f"keys that are not read and may change sizes: {named}")
        return said


def _object(path: Path) -> dict[str, Any]:
    try:
        data = contents.decoded(contents.content(path))
    except ValueError as error:
        raise UserError(f"not JSON: `{path}`: {error}") from error
    if not isinstance(data, dict):
        raise UserError(f"not a configuration: `{path}`", "a config.json is one object")
    return data


def _sizes(key: str, value: Any) -> bool:
    """Does a key look as if it decided a size?"""
    if isinstance(value, dict):
        return any(_sizes(inner, one) for inner, one in value.items()) and not HARMLESS.search(key)
    if isinstance(value, list):
        value = next((one for one in value if isinstance(one, int)), None)
    whole = isinstance(value, int) and not isinstance(value, bool) and value > 1
    return whole and bool(SIZES.search(key)) and not HARMLESS.search(key)
