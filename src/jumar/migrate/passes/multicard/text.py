"""The code that a distributed script needs, spelled for the chosen style."""

from __future__ import annotations

from jumar.migrate.passes.torch.styles.npu import IMPORT as IMPORT_NPU
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Style

IS_FIRST = "if RANK == 0:"
DDP = "from torch.nn.parallel import DistributedDataParallel"
SAMPLER = "from torch.utils.data.distributed import DistributedSampler"
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
UNWRAPPED = [
    "def unwrapped(model):",
    '    """The model itself, without its DistributedDataParallel wrapper."""',
    "    return model.module if isinstance(model, DistributedDataParallel) else model",
]
SUM = [
    "def sum_over_cards(value):",
    '    """A number or tensor, added up over all processes."""',
    "    if WORLD_SIZE == 1:",
    "        return value",
    "    if isinstance(value, torch.Tensor):",
    "        total = value.detach().clone()",
    "    else:",
    "        total = torch.tensor(value, device=CARD)",
    "    torch.distributed.all_reduce(total)",
    "    return total if isinstance(value, torch.Tensor) else type(value)(total.item())",
]
MEAN = [
    "def mean_over_cards(value):",
    '    """The mean of a number or tensor over all processes; a whole number stays one."""',
    "    if WORLD_SIZE == 1:",
    "        return value",
    "    mean = sum_over_cards(value) / WORLD_SIZE",
    "    return mean.to(value.dtype) if isinstance(value, torch.Tensor) else type(value)(mean)",
]
SPLIT = [
    "def split_over_cards(loader):",
    '    """The same loader for the part of its data that belongs to this process."""',
    "    shuffle = isinstance(loader.sampler, torch.utils.data.RandomSampler)",
    "    if not shuffle and not isinstance(loader.sampler, torch.utils.data.SequentialSampler):",
    '        raise TypeError("this loader has a sampler of its own: split its data by hand")',
    "    return torch.utils.data.DataLoader(",
    "        loader.dataset,",
    "        batch_size=loader.batch_size,",
    "        sampler=DistributedSampler(loader.dataset, num_replicas=WORLD_SIZE, rank=RANK, shuffle=shuffle),",
    "        num_workers=loader.num_workers,",
    "        collate_fn=loader.collate_fn,",
    "        pin_memory=loader.pin_memory,",
    "        drop_last=loader.drop_last,",
    "        timeout=loader.timeout,",
    "        worker_init_fn=loader.worker_init_fn,",
    "        persistent_workers=loader.persistent_workers,",
    "    )",
]
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


def wrap(file: PyFile, model: str) -> list[str]:
    ids = "" if file.settings.to is Style.AGNOSTIC else ", device_ids=[LOCAL_RANK]"
    return ["if WORLD_SIZE > 1:", f"    {model} = DistributedDataParallel({model}{ids})"]


def sampler(dataset: str, shuffle: str) -> str:
    return f"DistributedSampler({dataset}, num_replicas=WORLD_SIZE, rank=RANK, shuffle={shuffle})"
