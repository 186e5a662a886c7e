"""The reference page about the chips' arithmetic, from `data/numerics.toml`."""

from __future__ import annotations

import re

from jumar.tables import numerics
from jumar.tables.numerics import Rule, Source

_HEAD = """What `jumar run --numerics card` computes otherwise than the CPU, with the sentence that says so, and what
was looked for and not found. [How to use it, and how it works](../concepts/numerics.md)
"""


def page(note: str) -> str:
    parts = [f"# The arithmetic of the chips\n\n{note}", _HEAD, "## Rules\n"]
    parts += [_rule(rule) for rule in numerics.rules()]
    parts.append("## Not known\n")
    parts += [f"- **{_sentence(says)}** {_sentence(found)}" for says, found in numerics.unknown()]
    return "\n".join(parts) + "\n"


def _rule(rule: Rule) -> str:
    lines = [f"### {rule.name}\n", f"{_sentence(rule.says)}\n", f"- Chips: {', '.join(rule.chips)}"]
    if rule.switch:
        lines.append(f"- Switch: {_code(rule.switch)}")
    lines += [_source(source) for source in rule.sources]
    return "\n".join(lines) + "\n"


def _source(source: Source) -> str:
    return f"- [{source.title}]({source.address}), {source.date}: “{source.quote}”"


def _sentence(text: str) -> str:
    """With a capital, unless it begins with a name."""
    return f"{text if re.match('float|aclnn|msprobe', text) else text[0].upper() + text[1:]}."


def _code(text: str) -> str:
    """Names of torch_npu and of variables, as code."""
    return re.sub(r"[\w.=]*_[\w.=]*\w(\(\w+\))?|torch\.[\w.]*\w", lambda found: f"`{found[0]}`", text)
