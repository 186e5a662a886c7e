"""Which cores each card gets, on machines written as /sys trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.launch import cores


def machine(root: Path, nodes: list[str], siblings: int = 1, cards: list[int] | None = None) -> Path:
    """A /sys with NUMA nodes of these cores; with two threads per core, thread n and n + half are one core."""
    every = [cpu for node in nodes for cpu in cores.parse(node)]
    half = len(every) // siblings
    for number, cpus in enumerate(nodes):
        folder = root / f"devices/system/node/node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cpus}\n")
    for cpu in every:
        folder = root / f"devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        together = [cpu % half + half * thread for thread in range(siblings)]
        (folder / "thread_siblings_list").write_text(",".join(map(str, together)) + "\n")
    for number, node in enumerate(cards or []):
        folder = root / f"bus/pci/devices/0000:{number + 1:02x}:00.0"
        folder.mkdir(parents=True)
        for name, value in (("vendor", "0x19e5"), ("class", "0x120000"), ("numa_node", str(node))):
            (folder / name).write_text(f"{value}\n")
    network = root / "bus/pci/devices/0000:00:01.0"
    network.mkdir(parents=True)
    for name, value in (("vendor", "0x19e5"), ("class", "0x020000"), ("numa_node", "0")):
        (network / name).write_text(f"{value}\n")
    return root


KUNPENG = ["0-47", "48-95", "96-143", "144-191"]


def chosen(root: Path, cards: int, wish: str = "auto", allowed: range = range(192)) -> list[str]:
    return [cores.spell(one) for one in cores.choose(wish, range(cards), cores.read(root, allowed))]


def test_eight_cards_of_a_kunpeng_get_24_cores_each(tmp_path: Path) -> None:
    each = ["0-23", "24-47", "48-71", "72-95", "96-119", "120-143", "144-167", "168-191"]
    assert chosen(machine(tmp_path, KUNPENG), 8) == each


def test_cards_get_the_cores_of_their_own_node(tmp_path: Path) -> None:
    root = machine(tmp_path, KUNPENG, cards=[3, 3, 2, 2, 1, 1, 0, 0])
    assert chosen(root, 8)[:2] == ["144-167", "168-191"] and chosen(root, 8)[6:] == ["0-23", "24-47"]
    assert chosen(root, 1) == ["144-191"]
    topology = cores.read(root, range(192))
    assert [cores.spell(one) for one in cores.choose("auto", [0, 7], topology)] == ["144-191", "0-47"]


def test_a_card_without_a_known_node_spoils_the_map(tmp_path: Path) -> None:
    assert chosen(machine(tmp_path, KUNPENG, cards=[3, -1]), 2) == ["0-95", "96-191"]


def test_threads_of_one_core_stay_together(tmp_path: Path) -> None:
    root = machine(tmp_path, ["0-7,16-23", "8-15,24-31"], siblings=2)
    assert chosen(root, 4) == ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]


def test_only_allowed_cores_are_shared(tmp_path: Path) -> None:
    assert chosen(machine(tmp_path, KUNPENG), 2, allowed=range(50, 60)) == ["50-54", "55-59"]


def test_fewer_cores_than_cards_bind_nothing(tmp_path: Path) -> None:
    assert chosen(machine(tmp_path, ["0-1"]), 8, allowed=range(2)) == []


def test_without_sys_the_allowed_cores_are_shared(tmp_path: Path) -> None:
    assert chosen(tmp_path, 2, allowed=range(4)) == ["0-1", "2-3"]


def test_lists_are_taken_as_they_are(tmp_path: Path) -> None:
    root = machine(tmp_path, KUNPENG)
    assert chosen(root, 2, "0-3,8:4-7") == ["0-3,8", "4-7"]
    assert chosen(root, 2, "0-7") == ["0-3", "4-7"]
    assert chosen(root, 2, "none") == []


@pytest.mark.parametrize("wish", ["0:1:2", "0", "0:", "", "5-3", "0-191x", "192"])
def test_wrong_lists_are_refused(tmp_path: Path, wish: str) -> None:
    with pytest.raises(UserError, match="`--bind`"):
        chosen(machine(tmp_path, KUNPENG), 2, wish)
