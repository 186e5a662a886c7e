"""Writes data/torch_npu_modules.json: the names in the modules of `torch_npu.npu`, read from an unpacked wheel.

`python tools/refresh_torch_npu_modules.py FOLDER VERSION DATE`, where FOLDER holds `torch_npu/`. Nothing is imported.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

MODULES = (
    "amp/autocast_mode", "amp/common", "amp/grad_scaler", "graphs", "memory", "random", "streams", "utils",
)  # fmt: skip
OUT = Path(__file__).parents[1] / "src" / "jumar" / "data" / "torch_npu_modules.json"


def names(path: Path) -> list[str]:
    """What a module binds at its top level."""
    found: set[str] = set()
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return sorted(found - {"*", "__all__"})


def exported(path: Path) -> list[str]:
    """The content of `__all__`."""
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return sorted(ast.literal_eval(node.value))
    return []


def main(folder: str, version: str, date: str) -> None:
    npu = Path(folder) / "torch_npu" / "npu"
    table: dict[str, object] = {
        "source": f"the published torch_npu {version} wheel (PyPI), its Python sources",
        "date": date,
        "tool": "tools/refresh_torch_npu_modules.py",
        "exported": {
            "torch.npu": exported(npu / "__init__.py"),
            "torch.npu.amp": exported(npu / "amp" / "__init__.py"),
            "torch.npu.random": exported(npu / "random.py"),
        },
        "modules": {f"torch.npu.{name.replace('/', '.')}": names(npu / f"{name}.py") for name in MODULES},
    }
    OUT.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
