"""The code that a distributed script needs, spelled for the chosen style.

`FUNCTIONS` are found by their names in what the rules write: a file gets those that it calls, and what those need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from jumar.migrate.passes.torch.styles.npu import IMPORT as IMPORT_NPU
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Style

IS_FIRST = "if RANK == 0:"
DDP = "from torch.nn.parallel import DistributedDataParallel"
SAMPLER = "from torch.utils.data.distributed import DistributedSampler"
_STATE = "from torch.distributed.checkpoint import state_dict as whole_states"
CONSTANTS = [
    "# One process per card; alone, this is a single-card script (start: bash run_distributed_npu.sh SCRIPT).",
    'RANK = int(os.environ.get("RANK", 0))',
    'LOCAL_RANK = int(os.environ.get("LOCAL_RANK", 0))',
    'WORLD_SIZE = int(os.environ.get("WORLD_SIZE", 1))',
]
QUIET_PRINT = [
    "",
    "    def print(*args, **kwargs):",
    '        """Only the first process prints."""',
]
QUIET_PRINTS = ["    builtins.print = lambda *args, **kwargs: None  # only the first process prints"]
FUNCTIONS = {
    "unwrapped": [
        "def unwrapped(model):",
        '    """The model itself, without its DistributedDataParallel wrapper."""',
        "    return model.module if isinstance(model, DistributedDataParallel) else model",
    ],
    "sum_over_cards": [
        "def sum_over_cards(value):",
        '    """A number or tensor, added up over all processes (as float32: HCCL has no float64)."""',
        "    if WORLD_SIZE == 1:",
        "        return value",
        "    total = torch.as_tensor(value).detach().to(CARD, copy=True)",
        "    total = total.float() if total.is_floating_point() else total",
        "    torch.distributed.all_reduce(total)",
        "    return total.to(value) if isinstance(value, torch.Tensor) else type(value)(total.item())",
    ],
    "mean_over_cards": [
        "def mean_over_cards(value):",
        '    """The mean of a number or tensor over all processes; a whole number stays one."""',
        "    if WORLD_SIZE == 1:",
        "        return value",
        "    mean = sum_over_cards(value) / WORLD_SIZE",
        "    return mean.to(value.dtype) if isinstance(value, torch.Tensor) else type(value)(mean)",
    ],
    "first_decides": [
        "def first_decides(value):",
        '    """Yes or no as the first process says, so that all processes stop together."""',
        "    if WORLD_SIZE == 1:",
        "        return value",
        "    answer = torch.tensor(int(bool(value)), device=CARD)",
        "    torch.distributed.broadcast(answer, 0)",
        "    return bool(answer.item())",
    ],
    "PartOfSampler": [
        "class PartOfSampler(torch.utils.data.Sampler):",
        '    """Every WORLD_SIZE-th index of a sampler, which draws the same on all processes; the rest is dropped."""',
        "",
        "    def __init__(self, sampler):",
        "        self.sampler = sampler",
        "",
        "    def __len__(self):",
        "        return len(self.sampler) // WORLD_SIZE",
        "",
        "    def __iter__(self):",
        "        own = torch.get_rng_state()",
        "        first = own.to(CARD)",
        "        if WORLD_SIZE > 1:",
        "            torch.distributed.broadcast(first, 0)",
        "        torch.set_rng_state(first.cpu())",
        "        indices = iter(self.sampler)",
        "        group = [index for _, index in zip(range(WORLD_SIZE), indices)]",
        "        if RANK != 0:",
        "            torch.set_rng_state(own)",
        "        while len(group) == WORLD_SIZE:",
        "            yield group[RANK]",
        "            group = [index for _, index in zip(range(WORLD_SIZE), indices)]",
        "",
        "    def set_epoch(self, epoch):",
        '        """The sampler draws anew for each epoch by itself."""',
    ],
    "PartOfItems": [
        "class PartOfItems(torch.utils.data.IterableDataset):",
        '    """Every WORLD_SIZE-th item of an iterable dataset; what is left over is dropped."""',
        "",
        "    def __init__(self, dataset):",
        "        self.dataset = dataset",
        "",
        "    def __iter__(self):",
        "        items = iter(self.dataset)",
        "        group = [item for _, item in zip(range(WORLD_SIZE), items)]",
        "        while len(group) == WORLD_SIZE:",
        "            yield group[RANK]",
        "            group = [item for _, item in zip(range(WORLD_SIZE), items)]",
    ],
    "split_over_cards": [
        "def split_over_cards(loader):",
        '    """The loader, for the part of its data that belongs to this process."""',
        "    if isinstance(loader.dataset, torch.utils.data.IterableDataset) or loader.batch_sampler is None:",
        '        raise TypeError("this loader has no sampler: split its data by hand")',
        "    if WORLD_SIZE > 1:",
        "        loader.batch_sampler.sampler = PartOfSampler(loader.sampler)",
        "    return loader",
    ],
    "shard_over_cards": [
        "def shard_over_cards(model):",
        '    """Split the parameters over all processes: repeated blocks one by one, then the rest of the model."""',
        "    seen = [id(one) for _, one in model.named_parameters(remove_duplicate=False)]",
        "    shared = {one for one in seen if seen.count(one) > 1}",
        "    lists = [one for one in model.modules() if isinstance(one, (torch.nn.ModuleList, torch.nn.Sequential))]",
        "    for block in [block for one in reversed(lists) for block in one if list(block.children())]:",
        "        own = [id(one) for one in block.parameters()]",
        "        if own and not isinstance(block, torch.nn.ModuleList) and shared.isdisjoint(own):",
        "            fully_shard(block)",
        "    # Without its argument, `model.zero_grad()` between forward and backward would miss gradients.",
        "    fully_shard(model, reshard_after_forward=True)",
    ],
    "full_state_dict": [
        "def full_state_dict(model):",
        '    """The whole state of a model that is split over the processes; all of them must ask for it."""',
        "    options = whole_states.StateDictOptions(full_state_dict=True, cpu_offload=True)",
        "    return whole_states.get_model_state_dict(model, options=options)",
    ],
    "load_full_state_dict": [
        "def load_full_state_dict(model, state, strict=True):",
        '    """Each process takes its part of a whole state."""',
        "    options = whole_states.StateDictOptions(full_state_dict=True, strict=strict)",
        "    return whole_states.set_model_state_dict(model, state, options=options)",
    ],
    "full_optimizer_state_dict": [
        "def full_optimizer_state_dict(model, optimizer):",
        '    """The whole state of an optimizer, by the names of the parameters; all processes must ask for it."""',
        "    options = whole_states.StateDictOptions(full_state_dict=True, cpu_offload=True)",
        "    return whole_states.get_optimizer_state_dict(model, optimizer, options=options)",
    ],
    "load_full_optimizer_state_dict": [
        "def load_full_optimizer_state_dict(model, optimizer, state):",
        '    """Each process takes its part of a whole state."""',
        "    options = whole_states.StateDictOptions(full_state_dict=True)",
        "    whole_states.set_optimizer_state_dict(model, optimizer, state, options=options)",
    ],
    "save_from_all": [
        "def save_from_all(value, *args, **kwargs):",
        '    """All processes make the value, the first one writes it."""',
        "    if RANK == 0:",
        "        torch.save(value, *args, **kwargs)",
    ],
}
IMPORTS = {
    "DistributedDataParallel": DDP,
    "DistributedSampler": SAMPLER,
    "fully_shard": "from torch.distributed.fsdp import fully_shard",
    "register_fsdp_forward_method": "from torch.distributed.fsdp import register_fsdp_forward_method",
    "whole_states": _STATE,
    "contextlib": "import contextlib",
}
START = {
    Style.NPU: ["torch.npu.set_device(LOCAL_RANK)", "if WORLD_SIZE > 1:", "    @init"],
    Style.AGNOSTIC: [
        "if torch.accelerator.is_available():",
        "    torch.accelerator.set_device_index(LOCAL_RANK)",
        "if WORLD_SIZE > 1:",
        "    @init",
    ],
}
STOP = ["if WORLD_SIZE > 1:", "    torch.distributed.destroy_process_group()"]
BARRIER_BEFORE = ["if LOCAL_RANK != 0:", "    torch.distributed.barrier()"]
BARRIER_AFTER = ["if LOCAL_RANK == 0 and WORLD_SIZE > 1:", "    torch.distributed.barrier()"]
BARRIER = ["if WORLD_SIZE > 1:", "    torch.distributed.barrier()"]
_WORD = re.compile(r"[A-Za-z_]\w*")


def words(lines: Iterable[str]) -> set[str]:
    """The identifiers in some lines of code."""
    return {word for line in lines for word in _WORD.findall(line)}


def functions(wanted: set[str]) -> dict[str, list[str]]:
    """The functions among the wanted names and those that they call, in the order of the table."""
    names = wanted & set(FUNCTIONS)
    while more := {word for name in names for word in words(FUNCTIONS[name]) if word in FUNCTIONS} - names:
        names |= more
    return {name: lines for name, lines in FUNCTIONS.items() if name in names}


def card(file: PyFile) -> list[str]:
    """The constant that names this process's card."""
    if file.settings.to is Style.AGNOSTIC:
        return [
            "CARD = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "
            'torch.device("cpu")'
        ]
    return ['CARD = torch.device("npu", LOCAL_RANK)']


def start(file: PyFile) -> list[str]:
    """The process group, and the card of this process."""
    if file.settings.to is Style.AGNOSTIC:
        init = "torch.distributed.init_process_group(torch.distributed.get_default_backend_for_device(CARD))"
        lines = START[Style.AGNOSTIC]
    else:
        init = 'torch.distributed.init_process_group("hccl")'
        lines = START[Style.NPU]
    return [line.replace("@init", init) for line in lines]


def needs(file: PyFile) -> tuple[str, ...]:
    return () if file.settings.to is Style.AGNOSTIC else (IMPORT_NPU,)


def wrap(file: PyFile, model: str, options: str = "") -> list[str]:
    ids = "" if file.settings.to is Style.AGNOSTIC else ", device_ids=[LOCAL_RANK]"
    return ["if WORLD_SIZE > 1:", f"    {model} = DistributedDataParallel({model}{ids}{options})"]


def shard(model: str, methods: Iterable[str] = ()) -> list[str]:
    """The lines that split a model; `methods` are those that compute with its layers beside `forward`."""
    more = [f'    register_fsdp_forward_method({model}, "{name}")' for name in methods]
    return ["if WORLD_SIZE > 1:", f"    shard_over_cards({model})", *more]


def sampler(dataset: str, shuffle: str) -> str:
    return f"DistributedSampler({dataset}, num_replicas=WORLD_SIZE, rank=RANK, shuffle={shuffle})"
