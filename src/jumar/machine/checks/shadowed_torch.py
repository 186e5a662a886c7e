"""Is `import torch` PyTorch? MSAdapter installs a package of that name which is MindSpore underneath."""

from __future__ import annotations

from jumar.machine.check import Check, Report, Skip, error
from jumar.machine.host import Host

CHECK = Check("DR507", "shadowed-torch", "`import torch` is PyTorch, not MSAdapter's")


def run(host: Host) -> Report:
    python = host.python()
    place = python.facts["modules"].get("torch")
    if place is None:
        raise Skip("`torch` is not installed")
    speaks = python.facts.get("speaks", {}).get("torch", [])
    if not speaks:
        return Report(place)
    message = f"`import torch` is not PyTorch: `{place}` is built on {speaks[0]}"
    pip = f"{python.executable} -m pip"
    fix = f"{pip} uninstall -y msadapter && {pip} install --force-reinstall torch"
    return Report(place, (error(CHECK, message, fix),))
