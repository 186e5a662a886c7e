"""A job without its other ranks: stores answer at once, and absent ranks are taken to hold what this one holds."""

from __future__ import annotations

import copy
import datetime
import functools
import importlib
import os
import sys
from typing import Any

from jumar.runtime import variables

ROOT_INFO = bytes(4108)
"""What the first rank of an HCCL group hands to the others; the stand-in of a dry run does not read it."""
ASSUMED: dict[str, int] = {}
"""What was asked of absent ranks, and how often."""

_STOPPED = 2
"""`WatchdogStatus` in torch_npu's ProcessGroupHCCL.hpp."""
_STORES: list[Any] = []
_GROUPS: dict[str, list[int]] = {}


def install() -> None:
    import torch.distributed as dist
    from torch.distributed import distributed_c10d

    rendezvous = importlib.import_module("torch.distributed.rendezvous")  # the package has a function of that name
    kind = _store(dist.Store)
    for module in (dist, rendezvous, distributed_c10d):
        for name in ("TCPStore", "FileStore"):
            if hasattr(module, name):
                setattr(module, name, kind)
    for scheme in ("env", "tcp", "file", "parallel"):
        rendezvous._rendezvous_handlers[scheme] = _handler(kind)
    watch_alone()
    if not variables.DRY_WORLD.read():
        return
    for name, module in list(sys.modules.items()):  # torch_npu has a copy of torch's function that makes groups
        if name.startswith(("torch.distributed", "torch_npu")) and "ProcessGroupGloo" in vars(module):
            module.ProcessGroupGloo = Gloo  # type: ignore[attr-defined]
    for name, function in _objects(dist).items():
        setattr(dist, name, function)
        setattr(distributed_c10d, name, function)


def watch_alone() -> None:
    """What a recorded run with all its ranks needs, too."""
    import torch.distributed as dist
    from torch.distributed import distributed_c10d

    _remember_groups(dist, distributed_c10d)
    _unwatch_groups(dist.Backend)


def groups() -> dict[str, list[int]]:
    """Ranks of every group by its name, those that the program has destroyed, too."""
    from torch.distributed import distributed_c10d

    for group, members in distributed_c10d._world.pg_group_ranks.items():
        if group is not None:
            _GROUPS[str(getattr(group, "group_name", ""))] = sorted(members)
    return _GROUPS


def _remember_groups(dist: Any, inner: Any) -> None:
    original = inner.destroy_process_group

    @functools.wraps(original)
    def destroy(*args: Any, **options: Any) -> Any:
        groups()
        return original(*args, **options)

    dist.destroy_process_group = inner.destroy_process_group = destroy


def _unwatch_groups(kind: Any) -> None:
    """Stop the watchdogs of HCCL groups.

    Once a second they let go of collectives that nobody waits for, so it would be a matter of the host's speed when
    the memory of those is free again. A dry run has nothing to watch: collectives are over when they are called.
    """
    plugin = kind._plugins.get("HCCL")
    if plugin is None:
        return

    @functools.wraps(plugin.creator_fn)
    def make(*args: Any, **options: Any) -> Any:
        group = plugin.creator_fn(*args, **options)
        if hasattr(group, "set_watchdog_status"):
            group.set_watchdog_status(_STOPPED)
        return group

    kind._plugins["HCCL"] = plugin._replace(creator_fn=make)


def _handler(kind: Any) -> Any:
    def meet(url: str, timeout: Any = None, **_: Any) -> Any:
        from urllib.parse import parse_qsl, urlparse

        asked = dict(parse_qsl(urlparse(url).query))
        rank = int(asked.get("rank", os.environ.get("RANK", 0)))
        world = int(asked.get("world_size", os.environ.get("WORLD_SIZE", 1)))
        yield kind(), rank, world
        raise RuntimeError("a dry run meets once")

    return meet


def _store(base: Any) -> Any:
    class Alone(base):  # type: ignore[misc]
        """A store of one rank: what only others would write is there already."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__()
            _STORES.append(self)  # torch holds only the C++ half
            self.kept: dict[str, bytes] = {}
            self.host, self.port = "localhost", 0

        def set(self, key: str, value: Any) -> None:
            self.kept[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key: str) -> bytes:
            if key not in self.kept:
                ASSUMED[f"store: {_family(key)}"] = ASSUMED.get(f"store: {_family(key)}", 0) + 1
                return ROOT_INFO
            return self.kept[key]

        def add(self, key: str, value: int) -> int:
            count = int(self.kept.get(key, b"0") or b"0") + value
            self.kept[key] = str(count).encode()
            return count

        def compare_set(self, key: str, expected: str, desired: str) -> bytes:
            if self.kept.get(key, expected.encode()) == expected.encode():
                self.kept[key] = desired.encode()
            return self.kept[key]

        def check(self, keys: list[str]) -> bool:
            return all(key in self.kept for key in keys)

        def wait(self, keys: list[str], timeout: Any = None) -> None:
            return None

        def delete_key(self, key: str) -> bool:
            return self.kept.pop(key, None) is not None

        def num_keys(self) -> int:
            return len(self.kept)

        def set_timeout(self, timeout: datetime.timedelta) -> None:
            return None

        def clone(self) -> Any:
            return self

        def multi_get(self, keys: list[str]) -> list[bytes]:
            return [self.get(key) for key in keys]

        def multi_set(self, keys: list[str], values: list[Any]) -> None:
            for key, value in zip(keys, values):
                self.set(key, value)

        def has_extended_api(self) -> bool:
            return True

        def append(self, key: str, value: Any) -> None:
            self.kept[key] = self.kept.get(key, b"") + (value.encode() if isinstance(value, str) else bytes(value))

    return Alone


def _family(key: str) -> str:
    return "".join("#" if letter.isdecimal() else letter for letter in key)


def _nothing(_: Any) -> None:
    """Fake groups have no sequence numbers, and torch sets those of gloo."""


class _AnyGroup(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        from torch._C._distributed_c10d import FakeProcessGroup

        return isinstance(instance, FakeProcessGroup)


class Gloo(metaclass=_AnyGroup):
    """Makes groups of the host that have no peers: torch's own fake ones."""

    def __new__(cls, store: Any, rank: int, size: int, *_: Any, **__: Any) -> Any:
        from torch._C._distributed_c10d import FakeProcessGroup

        ASSUMED["gloo group"] = ASSUMED.get("gloo group", 0) + 1
        setattr(FakeProcessGroup, "_set_sequence_number_for_group", _nothing)  # noqa: B010
        make = getattr(FakeProcessGroup, "_create_internal", FakeProcessGroup)
        return make(rank, size)


def _objects(dist: Any) -> dict[str, Any]:
    """Exchanges of Python objects: absent ranks hold equal ones, and what they would send stays as it is."""

    def note(name: str) -> None:
        ASSUMED[name] = ASSUMED.get(name, 0) + 1

    def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
        note("all_gather_object")
        for place in range(len(object_list)):
            object_list[place] = obj if place == dist.get_rank(group) else copy.deepcopy(obj)

    def gather_object(obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, **_: Any) -> None:
        note("gather_object")
        if object_gather_list is not None:
            all_gather_object(object_gather_list, obj, group)

    def broadcast_object_list(object_list: list[Any], *_: Any, **__: Any) -> None:
        note("broadcast_object_list")

    def scatter_object_list(outputs: list[Any], inputs: Any = None, *_: Any, **options: Any) -> None:
        note("scatter_object_list")
        if inputs:
            outputs[0] = inputs[dist.get_rank(options.get("group"))]

    def recv_object_list(object_list: list[Any], *_: Any, **__: Any) -> int:
        note("recv_object_list")
        return 0

    def send_object_list(object_list: list[Any], *_: Any, **__: Any) -> None:
        return None

    made = (all_gather_object, gather_object, broadcast_object_list, scatter_object_list, recv_object_list,
            send_object_list)  # fmt: skip
    return {function.__name__: function for function in made}
