"""Addresses of the cards: planned, checked, applied through a stand-in hccn_tool."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jumar.emulate import env
from jumar.launch.net import check, plan


def test_eight_cards_are_paired_in_four_networks() -> None:
    cards = plan.build(["a"])
    assert [card.address for card in cards] == [
        *(f"192.168.{100 + ring}.101" for ring in range(4)), *(f"192.168.{100 + ring}.102" for ring in range(4))
    ]  # fmt: skip
    assert cards[5].commands() == (
        ("hccn_tool", "-i", "5", "-ip", "-s", "address", "192.168.101.102", "netmask", "255.255.255.0"),
    )


def test_many_servers_share_the_networks_and_never_an_address() -> None:
    cards = plan.build([f"node{number}" for number in range(70)])
    assert len({card.address for card in cards}) == 560
    assert {card.address.rpartition(".")[0] for card in cards} == {f"192.168.{100 + ring}" for ring in range(4)}
    first = {card.device: card for card in cards if card.server == "node0"}
    after = {card.device: card for card in cards if card.server == "node1"}
    assert first[3].detect == after[3].address and len(first[3].commands()) == 2


def test_a_small_network_is_filled_from_its_beginning() -> None:
    assert [card.address for card in plan.build(["a", "b"], 8, "10.0.0.0/29")][:9:4] == [
        "10.0.0.2",
        "10.0.0.3",
        "10.0.0.4",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cards", "0"], "1 to 16 cards"),
        (["--network", "10.0.0.1/24"], "has host bits set"),
        (["--network", "10.0.0.0/30"], "is not an IPv4 network with room"),
        (["--network", "fd00::/64"], "is not an IPv4 network"),
        (["a", "a"], "a server is named twice"),
        (["--network", "10.0.0.0/29", "a", "b", "c"], "3 servers do not fit into 10.0.0.0/29"),
        (["--run", "other"], "which is not among the servers"),
    ],
)
def test_wrong_plans_are_refused(jumar: Callable[..., Any], words: list[str], said: str) -> None:
    done = jumar("net", "plan", *words)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_the_plan_is_printed_as_commands_and_as_json(jumar: Callable[..., Any]) -> None:
    lines = jumar("net", "plan", "a", "b", "--cards", 2).out.splitlines()
    assert lines[0] == "# on a" and lines[5] == "# on b"
    assert lines[1] == "hccn_tool -i 0 -ip -s address 192.168.100.101 netmask 255.255.255.0"
    assert lines[2] == "hccn_tool -i 0 -netdetect -s address 192.168.100.102"
    assert len(json.loads(jumar("net", "plan", "--json").out)["cards"]) == 8


def machine(addresses: dict[int, str], down: Sequence[int] = (), deaf: Sequence[str] = ()) -> check.Tool:
    def tool(words: Sequence[str]) -> tuple[int, str]:
        card = int(words[1])
        if "-ip" in words:
            return (0, f"ipaddr:{addresses[card]}\nnetmask:255.255.255.0\n") if card in addresses else (1, "")
        if "-link" in words:
            return 0, f"link status: {'DOWN' if card in down else 'UP'}\n"
        loss = "0 received, 100.00%" if words[-1] in deaf else "3 received, 0.00%"
        return 0, f"device {card} PING {words[-1]}\n3 packets transmitted, {loss} packet loss\n"

    return tool


GOOD = {card.device: card.address for card in plan.build(["a"])}


def test_a_good_machine_has_nothing_wrong() -> None:
    assert check.here(range(8), machine(GOOD)) == []


@pytest.mark.parametrize(
    ("tool", "ids", "said"),
    [
        (machine({card: GOOD[card] for card in range(7)}), ["LN201"], "card 7 has no address"),
        (machine(GOOD, down=[3]), ["LN202"], "card 3: its link is DOWN"),
        (machine(GOOD | {1: GOOD[0]}), ["LN203"], f"card 1 and card 0 have the same address {GOOD[0]}"),
        (machine(GOOD, deaf=[GOOD[4]]), ["LN206"], f"card 0 ({GOOD[0]}) does not reach card 4 ({GOOD[4]})"),
    ],
)
def test_what_is_wrong_here_is_named(tool: check.Tool, ids: list[str], said: str) -> None:
    found = check.here(range(8), tool)
    assert [row.id for row in found] == ids and found[0].message == said


def test_collisions_over_servers_are_found(jumar: Callable[..., Any], tmp_path: Path) -> None:
    for name, last in (("a", 101), ("b", 101), ("c", 102)):
        rows = [f"address_{card}=192.168.{100 + card}.{last}\n" for card in range(2 if name != "c" else 1)]
        (tmp_path / name).write_text("".join(rows))
    (tmp_path / "d").write_text("address_0=10.xx.1.1\naddress_1=10.0.0.1\n")
    done = jumar("net", "check", *(f"{name}={tmp_path / name}" for name in "abcd"))
    assert done.code == 1
    assert "LN203 error card 0 of `b` and card 0 of `a` have the same address 192.168.100.101" in done.out
    assert "LN204 warning `c` has 1 addresses, others have 2" in done.out
    assert "LN205 error card 0 of `d`: `10.xx.1.1` is not an address" in done.out
    assert jumar("net", "check", f"a={tmp_path / 'a'}").code == 0


def test_run_applies_the_plan_with_hccn_tool(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "hccn_tool"
    tool.write_text('#!/bin/sh\necho "$@" >>"$0.said"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = jumar("net", "plan", "--run", "--cards", 2, socket.gethostname(), "other")
    assert done.code == 0, done.err
    assert (tmp_path / "hccn_tool.said").read_text().splitlines() == [
        "-i 0 -ip -s address 192.168.100.101 netmask 255.255.255.0", "-i 0 -netdetect -s address 192.168.100.102",
        "-i 1 -ip -s address 192.168.101.101 netmask 255.255.255.0", "-i 1 -netdetect -s address 192.168.101.102",
    ]  # fmt: skip
    tool.write_text("#!/bin/sh\necho no such device >&2\nexit 1\n")
    done = jumar("net", "plan", "--run", "--cards", 2)
    assert done.code == 2 and "failed: no such device" in done.err
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    for words in (["plan", "--run"], ["check"]):
        done = jumar("net", *words)
        assert done.code == 2 and "`hccn_tool` is not installed here" in done.err


def test_the_emulated_machine_answers() -> None:
    """Cards 0 and 4 are in one network; the others have no second card there."""
    if importlib.util.find_spec("torch_npu") is None or not list(env.library_dir().glob("lib*.so")):
        pytest.skip("the emulator is not installed: pip install 'jumar[emulator]'")
    inner = f"{sys.executable} -m jumar net check --cards 5 && hccn_tool -i 0 -ping -g address 10.0.0.1"
    done = subprocess.run(
        [sys.executable, "-m", "jumar", "emulate", "shell", "sh", "-c", inner],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "nothing is wrong" in done.stderr
    assert done.stdout.endswith("3 packets transmitted, 0 received, 100.00% packet loss\n")
