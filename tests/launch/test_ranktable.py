"""Rank tables: read in every layout, checked, made and converted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.launch.ranktable import check, place, read, sources, write
from jumar.launch.ranktable.table import RankTable

SAMPLES = Path(__file__).parents[1] / "golden" / "ranktable"
"""The layouts as the vendor's pages show them: hicann/hccl docs/zh/user_guide/cluster_info_config, 2026-11-15."""
FILES = {"a2_1.0.json": ("1.0", 2, 4), "a3_1.2.json": ("1.2", 4, 16), "template.json": ("modelarts", 2, 2),
         "950_2.0.json": ("2.0", 2, 4)}  # fmt: skip
CONF = "".join(f"address_{card}=192.168.{100 + card % 4}.{101 + card // 4}\nnetmask_{card}=255.255.255.0\n"
               for card in range(8))  # fmt: skip
TOOL = """\
$ /usr/local/Ascend/driver/tools/hccn_tool -i 2 -ip -g
ipaddr:192.161.200.10
netmask:255.255.255.0
$ hccn_tool -i 5 -ip -g
ipaddr:192.161.200.11
netmask:255.255.255.0
"""


def table(name: str) -> RankTable:
    return read.read((SAMPLES / name).read_text(), name)


def plain(found: RankTable) -> list[tuple[str, int | None, str]]:
    return [(server.name, device.device_id, device.address) for server, device in found.devices]


@pytest.mark.parametrize("name", FILES)
def test_every_layout_of_the_vendor_is_read_and_right(name: str) -> None:
    layout, servers, devices = FILES[name]
    found = table(name)
    assert (found.layout, len(found.servers), len(found.devices)) == (layout, servers, devices)
    assert check.check(found, name) == []


@pytest.mark.parametrize("to", ["1.0", "1.2", "2.0", "modelarts"])
@pytest.mark.parametrize("name", FILES)
def test_every_layout_becomes_every_other(name: str, to: str) -> None:
    before = table(name)
    text = write.render(before, to)
    after = read.read(text, to)
    assert check.check(after, to) == []
    assert plain(after) == plain(before)
    assert after.layout == to
    if to != "modelarts":
        assert [device.rank for _, device in after.devices] == list(range(len(after.devices)))


@pytest.mark.parametrize("name", ["a2_1.0.json", "a3_1.2.json"])
def test_nothing_is_lost_in_the_same_layout(name: str) -> None:
    before = json.loads((SAMPLES / name).read_text())
    assert json.loads(write.render(table(name), before["version"])) == before


def change(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((SAMPLES / "a2_1.0.json").read_text())
    return made | changes


def device(made: dict[str, Any], server: int, place: int) -> dict[str, str]:
    found: dict[str, str] = made["server_list"][server]["device"][place]
    return found


@pytest.mark.parametrize(
    ("spoil", "ids", "said"),
    [
        (lambda made: made.update(version="3.0"), ["LN101"], "version is `3.0`"),
        (lambda made: made.update(status="initializing"), ["LN102"], "status is `initializing`"),
        (lambda made: made.update(server_list=[], server_count="0"), ["LN103"], "no device"),
        (lambda made: made["server_list"][1].update(server_id="node_0"), ["LN104"], "`node_0` appears 2 times"),
        (lambda made: device(made, 0, 0).pop("rank_id"), ["LN105"], "1 of 4 devices have no rank_id"),
        (lambda made: device(made, 0, 0).update(rank_id="1"), ["LN106"], "rank 1 appears 2 times"),
        (lambda made: device(made, 1, 1).update(rank_id="7"), ["LN107"], "4 devices, and no rank 3"),
        (lambda made: device(made, 0, 0).pop("device_id"), ["LN108"], "a device has no device_id"),
        (lambda made: device(made, 0, 1).update(device_id="0"), ["LN109"], "device 0 appears 2 times"),
        (lambda made: device(made, 0, 0).pop("device_ip"), ["LN110"], "device 0 of `node_0` has no device_ip"),
        (lambda made: device(made, 0, 0).update(device_ip="10.x.1.2"), ["LN111"], "`10.x.1.2` is not an address"),
        (lambda made: device(made, 0, 0).update(device_ip="192.168.2.8"), ["LN112"], "the same address 192.168.2.8"),
        (lambda made: made.update(server_count="3"), ["LN113"], "server_count is 3, but there are 2"),
    ],
)
def test_what_is_wrong_is_named(spoil: Callable[[dict[str, Any]], object], ids: list[str], said: str) -> None:
    made = change()
    spoil(made)
    found = check.check(read.read(json.dumps(made), "t.json"), "t.json")
    assert [row.id for row in found] == ids
    assert said in found[0].message


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "is not JSON"), ("[]", "its top level is not an object"), ("{}", "no server_list"),
     ('{"peer_list": []}', "describes the links")],
)  # fmt: skip
def test_what_is_no_rank_table_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read.read(text, "t.json")


def test_addresses_come_from_hccn_conf_and_from_hccn_tool() -> None:
    assert sources.addresses(CONF, "hccn.conf")[5] == "192.168.101.102"
    assert sources.addresses(TOOL, "out") == {2: "192.161.200.10", 5: "192.161.200.11"}
    assert sources.addresses("ipaddr:1.1.1.1\nnetmask:x\nipaddr:1.1.1.2\n", "out") == {0: "1.1.1.1", 1: "1.1.1.2"}
    with pytest.raises(UserError, match="holds no address"):
        sources.addresses("nothing", "out")
    with pytest.raises(UserError, match="device 0 has two addresses"):
        sources.addresses("address_0=1.1.1.1\naddress_0=1.1.1.2\n", "conf")


def test_a_list_of_hosts_gives_the_ranks_in_its_order() -> None:
    made = json.loads(write.render(sources.hosts("# two\nb 10.0.0.1 10.0.0.2\na 10.0.1.1  # one\n", "hosts"), "1.0"))
    assert [(one["server_id"], [dev["rank_id"] for dev in one["device"]]) for one in made["server_list"]] == [
        ("b", ["0", "1"]), ("a", ["2"])]  # fmt: skip
    for text, said in (("a\n", "line 1: `a` has no addresses"), ("#\n", "names no server")):
        with pytest.raises(UserError, match=said):
            sources.hosts(text, "hosts")


def test_the_commands_make_check_and_convert(jumar: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text(CONF)
    (tmp_path / "b.txt").write_text(TOOL)
    made = tmp_path / "table.json"
    done = jumar(
        "ranktable", "make", f"a={tmp_path / 'a.conf'}", f"b={tmp_path / 'b.txt'}", "--cards", "2,5", "-o", made
    )
    assert done.code == 0 and f"wrote `{made}`" in done.err
    assert jumar("ranktable", "check", made).code == 0
    done = jumar("ranktable", "convert", made, "--to", "2.0")
    assert json.loads(done.out)["rank_count"] == 4 and "ports and planes are not in" in done.err
    spoiled = json.loads(made.read_text())
    spoiled["server_list"][0]["device"][0]["rank_id"] = "1"
    made.write_text(json.dumps(spoiled))
    done = jumar("ranktable", "check", made)
    assert (done.code, done.out) == (1, f"{made}: LN106 error rank 1 appears 2 times\n")
    assert json.loads(jumar("ranktable", "check", "--json", made).out)["findings"][0]["id"] == "LN106"
    done = jumar("ranktable", "convert", made, "--to", "1.2")
    assert done.code == 2 and "fix them first" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["make", "a"], "`a` is not SERVER=FILE"),
        (["make", "a=no.conf"], "cannot read `no.conf`"),
        (["make", "a=x.conf", "a=x.conf"], "server `a` is named twice"),
        (["make", "a=x.conf", "--cards", "9"], "`a`: card 9 has no address"),
        (["make", "a=x.conf", "--cards", "q"], "`q` is not a card"),
        (["make", "a=x.conf", "--to", "1.1"], "did you mean `1.2`?"),
        (["make", "a=x.conf", "--hosts", "h"], "excludes SERVER=FILE"),
        (["check", "x.conf"], "`x.conf` is not JSON"),
        (["convert", "x.conf", "--to", "1.0"], "`x.conf` is not JSON"),
    ],
)
def test_wrong_words_are_refused(
    jumar: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.conf").write_text(CONF)
    done = jumar("ranktable", *words)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_a_table_of_another_machine_is_refused() -> None:
    own = sources.addresses(CONF, "conf")
    mine = read.read(write.render(sources.table({"here": own}, [0, 1]), "1.0"), "t")
    place.fit(mine, "t", [0, 1], 1, own)
    place.fit(mine, "t", [0, 1], 1, {})
    for cards, nodes, known, said in (
        ([0, 1], 1, {0: "10.0.0.1", 1: "10.0.0.2"}, "is for another machine: `here`"),
        ([0, 2], 1, own, r"names cards \[0, 1\], the job uses \[0, 2\]"),
        ([0, 1], 2, own, "names 1 machines, the job has 2"),
    ):
        with pytest.raises(UserError, match=said):
            place.fit(mine, "t", cards, nodes, known)
    named = read.read(write.render(sources.table({"203.0.113.9": own}, [0]), "1.0"), "t")
    with pytest.raises(UserError, match=r"is for another machine: `203.0.113.9`"):
        place.fit(named, "t", [0], 1, {})
    local = read.read(write.render(sources.table({"127.0.0.1": own}, [0]), "1.0"), "t")
    place.fit(local, "t", [0], 1, {})
    broken = read.read(write.render(sources.table({"a": {0: "x"}}, None), "1.0"), "t")
    with pytest.raises(UserError, match="`x` is not an address"):
        place.fit(broken, "t", [0], 1, {})
