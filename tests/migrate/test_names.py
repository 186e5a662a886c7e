"""What names stand for: imports, scopes and second names."""

from __future__ import annotations

import ast
import textwrap

import pytest

from jumar.migrate.names import Index


def meanings(text: str, attribute: str = "probe") -> list[str | None]:
    """What stands before every `.probe` in the text, in source order."""
    tree = ast.parse(textwrap.dedent(text))
    index = Index(tree, frozenset({ast.Attribute}))
    found = [node for node in index.nodes[ast.Attribute] if isinstance(node, ast.Attribute) and node.attr == attribute]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return [index.qualified(node.value) for node in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\ntorch.probe", "torch"),
        ("import torch as t\nt.cuda.probe", "torch.cuda"),
        ("import torch.cuda\ntorch.cuda.probe", "torch.cuda"),
        ("import torch.cuda as c\nc.probe", "torch.cuda"),
        ("from torch import cuda as c\nc.probe", "torch.cuda"),
        ("from torch.cuda import amp\namp.probe", "torch.cuda.amp"),
        ("from . import torch\ntorch.probe", ".torch"),
        ("from .a import torch\ntorch.probe", ".a.torch"),
        ("import torch\nx = torch.cuda\nx.probe", "torch.cuda"),
        ("import torch\nx: object = torch\nx.probe", "torch"),
        ("import torch\nif (x := torch.cuda): x.probe", "torch.cuda"),
        ("try:\n  import torch\nexcept ImportError:\n  torch = None\ntorch.probe", "torch"),
        ("import torch\ndel torch\nimport torch\ntorch.probe", "torch"),
        ("def f():\n  global torch\n  import torch\ntorch.probe", "torch"),
        ("import torch\ndef f():\n  def g(): return torch.probe", "torch"),
        ("import torch\n[torch for torch in x]\ntorch.probe", "torch"),
        ("import torch\nclass A:\n  torch = 1\n  def f(self): torch.probe", "torch"),
        ("import torch\ntorch: object\ntorch.probe", "torch"),
    ],
)
def test_a_name_is_known(text: str, expected: str) -> None:
    assert meanings(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "torch.probe",
        "import torch\ndef f(torch): torch.probe",
        "import torch\ndef f(*torch): torch.probe",
        "import torch\ndef f(*, torch=1): torch.probe",
        "import torch\nlambda torch: torch.probe",
        "import torch\nfor torch in x: torch.probe",
        "import torch\nwith x as torch: torch.probe",
        "import torch\ntorch = f(torch)\ntorch.probe",
        "import torch\nclass torch: pass\ntorch.probe",
        "import torch\ndef torch(): pass\ntorch.probe",
        "import torch\n[torch.probe for torch in x]",
        "import torch\nclass A:\n  torch = 1\n  torch.probe",
        "import torch\ntry: pass\nexcept E as torch: torch.probe",
        "import torch\nmatch x:\n  case {'a': torch, **r}: torch.probe",
        "import torch\nmatch x:\n  case [*torch]: torch.probe",
        "import torch\ndef f():\n  def g():\n    nonlocal t\n    t = 1\n  t = torch\n  t.probe",
        "import a as torch\nimport torch\ntorch.probe",
        "import torch\ndef f():\n  global torch\n  torch = 1\ntorch.probe",
        "import torch\n(torch := 1).real\ntorch.probe",
        "x = x\nx.probe",
        "f().probe",
    ],
)
def test_a_name_is_not_known(text: str) -> None:
    assert meanings(text) == [None]


def test_defaults_and_decorators_belong_outside() -> None:
    text = """
    import torch
    @torch.probe
    def f(torch=torch.probe): torch.probe
    """
    assert meanings(text) == ["torch", "torch", None]


def test_an_assignment_expression_in_a_comprehension_binds_outside() -> None:
    assert meanings("import torch\n[t := torch for x in y]\nt.probe") == ["torch"]


def test_the_enclosing_function() -> None:
    tree = ast.parse("def f():\n  if x: y\nz")
    index = Index(tree, frozenset({ast.Name}))
    names = {node.id: node for node in index.nodes[ast.Name] if isinstance(node, ast.Name)}
    assert index.function_scope(names["y"]) is tree.body[0]
    assert index.function_scope(names["z"]) is tree
