"""torch.npu on the emulated machine: cards, memory, streams, random numbers."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_first_program_of_the_guides(run: Run) -> None:
    done = run("import torch, torch_npu; a = torch.ones(3, 4).npu(); print(a + a)")
    assert "device='npu:0'" in done.stdout


def test_plain_torch_still_imports(run: Run) -> None:
    assert run("import torch; print(torch.ones(2).sum().item())").stdout == "2.0\n"


def test_python_without_torch_loads_nothing(run: Run) -> None:
    done = run("import sys; print('ctypes' in sys.modules, 'jumar.emulate.env' in sys.modules)")
    assert done.stdout == "False False\n"


def test_soc_cards_and_memory_come_from_variables(run: Run) -> None:
    program = """
import torch
card = torch.npu.get_device_properties(0)
print(card.name, card.total_memory, torch.npu.device_count())
"""
    done = run(program, JUMAR_SOC="Ascend310P3", JUMAR_CARDS="3", JUMAR_MEMORY="2G")
    assert done.stdout == f"Ascend310P3 {2 << 30} 3\n"


def test_visible_devices_renumbers_cards(run: Run) -> None:
    program = """
import torch
print(torch.npu.device_count())
torch.ones(1, device="npu:1")
torch.ones(1, device="npu:2")
"""
    done = run(program, check=False, ASCEND_RT_VISIBLE_DEVICES="2,3")
    assert done.stdout == "2\n"
    assert done.returncode != 0


def test_visible_devices_are_read_as_a_card_reads_them(run: Run) -> None:
    """Until a card is used; numbers must rise, and nothing but digits and commas counts."""
    assert run(program_text(__file__, "visible_devices")).stdout == "8 1 3 0 0 1 1 0 0 3\n"


def test_unknown_soc_is_an_error(run: Run) -> None:
    done = run("import torch; torch.ones(1).npu()", check=False, JUMAR_SOC="Ascend1")
    assert done.returncode != 0
    assert "JUMAR_SOC=Ascend1" in done.stderr


def test_memory_is_counted_and_limited(run: Run) -> None:
    program = program_text(__file__, "memory_limit")
    assert run(program, JUMAR_MEMORY="256M").stdout == "OOM True\n"


def test_device_index_that_does_not_exist(run: Run) -> None:
    assert run("import torch; torch.ones(1, device='npu:8')", check=False).returncode != 0


def test_streams_and_events(run: Run) -> None:
    program = program_text(__file__, "streams_and_events")
    assert run(program).stdout == "True True True\n"


def test_random_numbers_follow_the_card_not_the_cpu(run: Run) -> None:
    program = program_text(__file__, "random_of_the_card")
    run(program)


def test_bfloat16_is_refused_where_the_chip_has_none(run: Run) -> None:
    program = "import torch; x = torch.ones(2, dtype=torch.bfloat16).npu(); x + x"
    run(program)
    done = run(program, check=False, JUMAR_SOC="Ascend910A")
    assert "this chip has no bfloat16" in done.stderr


def test_a_call_nobody_wrote_refuses_by_name(run: Run) -> None:
    program = "import torch; torch.ones(4).npu().untyped_storage()._share_npu_()"
    done = run(program, check=False, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert "`aclrtMemExportToShareableHandle` is not emulated" in done.stderr
    assert "`jumar emulate coverage`" in done.stderr


def test_an_operator_without_a_cpu_kernel_refuses_by_name(run: Run) -> None:
    call = "torch.ops.aten._scaled_grouped_mm(x, x, x, x)"
    done = run(f"import torch; x = torch.ones(2, 2).npu(); {call}", check=False)
    assert done.returncode != 0
    assert "aten::_scaled_grouped_mm is not implemented" in done.stderr
    assert "jumar emulate coverage" in done.stderr
