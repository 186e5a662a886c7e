"""What the engine asks about PyTorch and CUDA."""

from __future__ import annotations

from collections.abc import Sequence

from jumar.core.source import Source
from jumar.migrate.look import Text
from jumar.migrate.passes.torch import kernels, markers, owners, words
from jumar.migrate.passes.torch.python import torch_npu_import
from jumar.migrate.passes.torch.styles import agnostic
from jumar.migrate.passes.torch.units import twins
from jumar.migrate.passes.torch.units.settle import settle
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import After, Imports, NewFile, Pass
from jumar.migrate.settings import Facts, Style
from jumar.tables.apis import version

IMPORTS = Imports(
    torch_npu_import.RULE,
    after="torch",
    in_every_function=lambda settings: version(settings.torch) < torch_npu_import.LOADED_BY_TORCH,
)


def prepare(facts: Facts, texts: Sequence[Text]) -> Facts:
    """What must be known of the whole project."""
    python = [text for text in texts if text.path.endswith(".py")]
    facts = twins.prepare(kernels.prepare(owners.prepare(facts, python), python), python)
    return words.prepare(facts, texts)


def wrote(source: Source) -> bool:
    """Is this the helper module of the style `agnostic`?"""
    return source.path.endswith(f"{agnostic.HELPER}.py") and b"Written by `jumar migrate" in source.data[:1000]


def files(after: After) -> tuple[NewFile, ...]:
    """The helper module, when the migrated file imports it."""
    if after.settings.to is not Style.AGNOSTIC or agnostic.HELPER.encode() not in after.source.data:
        return ()
    tree = after.tree()
    if tree is None:
        return ()
    file = PyFile(after.source, after.settings, tree, frozenset())
    return ((agnostic.helper_path(file), agnostic.helper_text()),)


PASS = Pass(
    name="torch",
    is_wanted=lambda settings: settings.cloud is None,
    takes_plugins=True,
    imports=IMPORTS,
    settle=settle,
    prepare=prepare,
    wrote=wrote,
    files=files,
    telling=markers.found,
    supported=markers.supported,
)
