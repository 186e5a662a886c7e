"""The program that asks a Python what it is and what is installed in it; runs on Python 3.7 and newer.

It is text, because the Python that programs use is seldom the one Jumar runs on, and may be on another machine. It
reads names of folders instead of metadata and imports no package: that takes 0.1 s instead of 0.9.
"""

from __future__ import annotations

SCRIPT = r"""
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json, os, platform, re, sys, sysconfig
from importlib.machinery import PathFinder
packages = {}
for folder in sys.path:
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        continue
    for name in names:
        found = re.match(r"(.+?)-([0-9][^-]*)(?:-py[0-9.]+)?\.(?:dist|egg)-info$", name)
        key = found.group(1).lower().replace("_", "-").replace(".", "-") if found else None
        if key and key not in packages:
            packages[key] = {"version": found.group(2), "place": folder}
            if key in ("mindspore", "torch", "torch-npu"):
                try:
                    with open(os.path.join(folder, name, "WHEEL")) as file:
                        packages[key]["tags"] = " ".join(l[5:].strip() for l in file if l.startswith("Tag: "))
                except (OSError, ValueError):
                    pass
modules = {}
binaries = {}
builds = {}
speaks = {}
for name in ("torch", "torch_npu", "mindspore", "te", "tbe", "acl", "apex", "moxing"):
    try:
        spec = PathFinder.find_spec(name)
    except Exception:
        spec = None
    modules[name] = (spec.origin or "") if spec else None
    if not spec:
        continue
    try:
        if name == "torch" and spec.origin:
            with open(spec.origin, encoding="utf-8", errors="replace") as file:
                text = file.read(200000)
            words = re.findall(r"^\s*(?:import|from)\s+(msadapter|mindspore)\b", text, re.M)
            speaks[name] = sorted(set(words))
            with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as file:
                made_for = re.search(r"^cuda\b.*=\s*['\"]([0-9.]+)", file.read(20000), re.M)
            if made_for:
                builds[name] = made_for.group(1)
        for folder in list(spec.submodule_search_locations or []):
            for file in os.listdir(folder):
                if file.startswith("_c_expression") and file.endswith(".so"):
                    with open(os.path.join(folder, file), "rb") as binary:
                        head = binary.read(20)
                    binaries[name] = {62: "x86_64", 183: "aarch64"}.get(head[18] + 256 * head[19], "other")
    except (OSError, ValueError, IndexError):
        pass
print(json.dumps({"executable": sys.executable, "version": platform.python_version(), "prefix": sys.prefix,
    "machine": platform.machine(), "libc": list(platform.libc_ver()),
    "shared": bool(sysconfig.get_config_var("Py_ENABLE_SHARED")), "packages": packages, "modules": modules,
    "binaries": binaries, "builds": builds, "speaks": speaks}))
"""
