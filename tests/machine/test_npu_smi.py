"""Every layout of npu-smi in the samples is read with its numbers; an unknown one is refused."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from jumar.machine.parse import npu_smi
from jumar.machine.parse.layout import UnknownLayout
from jumar.machine.parse.npu_smi import Usage

SAMPLES = Path(__file__).parent / "samples"
GOLDEN = Path(__file__).parents[1] / "golden" / "npu-smi"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")


def test_board_with_one_memory() -> None:
    found = npu_smi.info(sample("npu_smi_info_310B4_23.0.0"))
    (chip,) = found.chips
    assert (found.tool, found.driver, found.processes) == ("23.0.0", "23.0.0", None)
    assert chip[:5] == (0, 0, "310B4", "Alarm", 0)
    assert (chip.bus, chip.power, chip.temp, chip.busy) == (None, 0.0, 65, 0)
    assert chip.memory == Usage(3628, 15609)
    assert chip.pages == Usage(15, 15)


def test_old_card_whose_tool_and_driver_differ() -> None:
    found = npu_smi.info(sample("npu_smi_info_310P3_22.0.0"))
    assert (found.tool, found.driver) == ("22.0.0", "22.0.2")
    assert found.chips[0].memory == Usage(994, 21534)
    assert found.chips[0].bus == "0000:86:00.0"


def test_first_generation_with_both_memories_and_a_process() -> None:
    found = npu_smi.info(sample("npu_smi_info_910ProB_23.0.rc1_procs"))
    (chip,) = found.chips
    assert (chip.name, chip.ddr, chip.memory) == ("910ProB", Usage(1198, 15137), Usage(30711, 32768))
    assert found.processes == ((0, 0, 55115, "python", 30784),)


def test_two_chips_in_each_npu() -> None:
    found = npu_smi.info(sample("npu_smi_info_A3_25.2.0_procs"))
    assert [(chip.npu, chip.chip, chip.device) for chip in found.chips] == [(n // 2, n % 2, n) for n in range(16)]
    assert {chip.name for chip in found.chips} == {"Ascend910"}
    assert (found.chips[0].power, found.chips[1].power) == (211.3, None)
    assert found.chips[15].memory == Usage(61631, 65536)
    assert found.processes is not None and len(found.processes) == 23
    assert found.processes[-1] == (7, 1, 944268, "", 58782)


def test_layout_of_the_950() -> None:
    found = npu_smi.info(sample("npu_smi_info_950"))
    (chip,) = found.chips
    assert (chip.npu, chip.chip, chip.health, chip.busy, chip.memory) == (0, 0, "OK", 0, Usage(4439, 86016))
    assert found.processes == ()


@pytest.mark.parametrize("name, rows", [
    ("npu_smi_info_310PDuo_25.2.0", [(2, 0, 0, None, 45, 1529, 44280), (2, 1, 1, None, 43, 1412, 43693)]),
    ("npu_smi_info_910B4_26.0.rc1", [(0, 0, None, 82.6, 32, 2871, 32768)]),
    ("npu_smi_info_910A_1.8.21", [(0, 0, None, 68.6, 36, 0, 32768), (1, 0, None, 63.7, 31, 0, 32768)]),
    ("npu_smi_info_310_21.0.3.1", [(1, 0, 0, 12.8, 49, 2621, 8192), (1, 1, 1, 12.8, 49, 2621, 8192)]),
])  # fmt: skip
def test_other_widths_and_columns(name: str, rows: list[tuple[float | None, ...]]) -> None:
    chips = npu_smi.info(sample(name)).chips
    assert [(chip.npu, chip.chip, chip.device, chip.power, chip.temp, *(chip.memory or ())) for chip in chips] == rows


def test_text_that_is_indented_and_shortened() -> None:
    found = npu_smi.info(sample("npu_smi_info_generic_24.1.rc1"))
    assert [(chip.npu, chip.bus, chip.memory) for chip in found.chips] == [(7, "0000:3D:00.0", Usage(0, 32768))]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("Ascend*.txt")), ids=lambda path: path.stem)
def test_tables_of_the_emulated_machine(path: Path) -> None:
    found = npu_smi.info(path.read_text(encoding="utf-8"))
    assert len(found.chips) == 2
    assert all(chip.health == "OK" and chip.memory and chip.memory.used == 0 for chip in found.chips)


def table(*rows: str, titles: str = "") -> str:
    titles = titles or (
        "| NPU   Name      | Health | Power(W)   Temp(C)  Hugepages-Usage(page)|\n"
        "| Chip            | Bus-Id | AICore(%)  Memory-Usage(MB)  HBM-Usage(MB)|\n"
    )
    return (
        f"| npu-smi 26.0.rc1   Version: 26.0.rc1 |\n+---+---+---+\n{titles}+===+===+===+\n"
        + "\n".join(rows)
        + "\n+===+"
    )


def test_chip_that_the_driver_cannot_read() -> None:
    found = npu_smi.info(
        table("| 3   910B3 | UNKNOWN | NA  NA  NA / NA |", "| 0 | 0000:C2:00.0 | NA  NA / NA  NA / NA |")
    )
    (chip,) = found.chips
    assert (chip.health, chip.power, chip.temp, chip.busy, chip.hbm) == ("UNKNOWN", None, None, None, Usage(None, None))


def test_chip_whose_second_row_is_missing_keeps_the_first() -> None:
    found = npu_smi.info(table("| 3   910B3 | Critical | 90.1  40  0 / 0 |"))
    assert (found.chips[0].health, found.chips[0].memory) == ("Critical", None)


def test_title_nobody_knows_is_refused() -> None:
    titles = "| NPU   Name | Health | Power(kW)   Temp(C) |\n"
    with pytest.raises(UnknownLayout, match=r"unknown title `Power\(kW\)"):
        npu_smi.info(table("| 0 910C | OK | 1 2 |", titles=titles))


def test_row_that_does_not_fit_its_title_is_refused() -> None:
    with pytest.raises(UnknownLayout, match="cannot read"):
        npu_smi.info(table("| 3   910B3 | OK | 90.1  40 C 0 / 0 |"))
    with pytest.raises(UnknownLayout, match="2 columns where the title has 3"):
        npu_smi.info(table("| 3   910B3 | OK |"))


def test_unknown_list_of_processes_costs_only_that_list() -> None:
    rows = ("| 0   910B3 | OK | 90.1  40  0 / 0 |", "| 0 | 0000:C2:00.0 | 1  0 / 0  5 / 9 |", "+===+", "+---+",
            "| NPU  Chip | Process id | Container | Process memory(MB) |", "| 0  0 | 12 | web | 4 |")  # fmt: skip
    found = npu_smi.info(table(*rows))
    assert len(found.chips) == 1 and found.processes is None
    assert found.notes == ("`npu-smi info`: unknown title `Container` in the list of processes",)


def test_list_of_processes_with_numbers_inside_containers() -> None:
    rows = ("| 0   910B3 | OK | 90.1  40  0 / 0 |", "| 0 | 0000:C2:00.0 | 1  0 / 0  5 / 9 |", "+===+", "+---+",
            "| NPU  Chip | Process id | Process name | Process memory(MB) |Process id in container|",
            "| 0  0 | 12 | web | 4 | 7 |")  # fmt: skip
    assert npu_smi.info(table(*rows)).processes == ((0, 0, 12, "web", 4),)


@pytest.mark.parametrize("name, code", [("npu_smi_fail_8005", -8005), ("npu_smi_fail_8020", -8020)])
def test_failure_of_the_driver_keeps_its_number(name: str, code: int) -> None:
    with pytest.raises(npu_smi.SmiFailed, match="failed") as failed:
        npu_smi.info(sample(name))
    assert failed.value.code == code


def test_text_without_a_table_is_refused() -> None:
    with pytest.raises(UnknownLayout, match="no table"):
        npu_smi.info("hello\n")


def test_rows_of_the_map() -> None:
    assert [row.logic for row in npu_smi.mapped(sample("npu_smi_info_m_910A"))] == list(range(8))
    assert npu_smi.mapped(sample("npu_smi_info_m_910B4_mcu")) == [(7, 0, 7, None, "Ascend 910B4")]
    assert npu_smi.mapped(sample("npu_smi_info_m_950")) == [(0, 0, None, 0, "xxx")]
    with pytest.raises(UnknownLayout, match="titles is missing"):
        npu_smi.mapped("0  0  0  0  Ascend910\n")
    with pytest.raises(UnknownLayout, match="unknown title `Die ID`"):
        npu_smi.mapped("NPU ID  Die ID  Chip Name\n0  0  Ascend910\n")


def test_list_of_npus() -> None:
    assert npu_smi.listed(sample("npu_smi_info_l_910B")) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert npu_smi.listed(sample("npu_smi_info_l_950")) == {0: 1}
    assert npu_smi.listed(sample("npu_smi_info_l_A3_and_card")) == {8: 1, 0: 2}


def test_queries_about_one_npu() -> None:
    usages = npu_smi.by_chip(sample("npu_smi_usages_910A"))
    assert usages[0]["HBM Capacity(MB)"] == "31129"
    assert npu_smi.by_chip(sample("npu_smi_common_950"))[0]["Temperature(C)"] == "65"
    assert npu_smi.by_chip(sample("npu_smi_ecc"))[0]["HBM Double Bit Error Count"] == "0"
    assert npu_smi.by_chip(sample("npu_smi_health"))[0] == {
        "Health Status": "OK",
        "Error Code": "NA",
        "Error Information": "NA",
    }
    assert npu_smi.board(sample("npu_smi_board_card_910A"))["Firmware Version"] == "7.1.0.7.220"
    assert npu_smi.board(sample("npu_smi_board_950"))["PCIe Bus Info"] == "0000:F1:00.0"


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("npu_smi_info_[39A]*")))
def test_answer_that_breaks_off_gives_no_wrong_number(name: str) -> None:
    text = sample(name)
    whole = npu_smi.info(text)
    for end in range(0, len(text), 1 + len(text) // 1500):
        try:
            part = npu_smi.info(text[:end])
        except (UnknownLayout, npu_smi.SmiFailed):
            continue
        first_row_only = part.chips and part.chips[-1].memory is None
        chips = part.chips[:-1] if first_row_only else part.chips
        assert chips == whole.chips[: len(chips)], text[:end]
        if part.processes:
            assert whole.processes and part.processes == whole.processes[: len(part.processes)]


@pytest.mark.parametrize("name", ["npu_smi_usages_910A", "npu_smi_ecc"])
def test_query_that_breaks_off_is_refused(name: str) -> None:
    text = sample(name).rstrip()
    for end in range(text.index("Chip Count") + 60, len(text) - 1):
        with pytest.raises(UnknownLayout):
            npu_smi.by_chip(text[:end])


def test_noise_is_refused_and_never_breaks_the_reader() -> None:
    chance = random.Random(7)
    texts = [path.read_text(encoding="utf-8") for path in sorted(SAMPLES.glob("npu_smi_*"))]
    readers = (npu_smi.info, npu_smi.mapped, npu_smi.listed, npu_smi.by_chip, npu_smi.board)
    for _ in range(300):
        text = list(chance.choice(texts))
        for _ in range(chance.randint(1, 30)):
            text[chance.randrange(len(text))] = chance.choice("|+:-/ 0\n\t\0é")
        for read in readers:
            with contextlib.suppress(UnknownLayout, npu_smi.SmiFailed):
                read("".join(text))


def test_two_chips_in_one_query() -> None:
    text = "NPU ID : 0\nChip Count : 2\n\nHealth : OK\nChip ID : 0\nHealth : Alarm\nChip ID : 1\n"
    assert npu_smi.by_chip(text) == {0: {"Health": "OK"}, 1: {"Health": "Alarm"}}
    with pytest.raises(UnknownLayout, match="after the last `Chip ID`"):
        npu_smi.by_chip(text + "Health : OK\n")
