"""The verbs by what people want to do, and examples of each: the order and the words of the help."""

from __future__ import annotations

TASKS = {
    "Move code to NPUs": {
        "analyze": "Report what ties a code base to CUDA, without changing it",
        "migrate": "Show or make the changes that move CUDA code to Ascend NPUs",
    },
    "Run it, with or without NPUs": {
        "run": "Run a script on real NPUs, or on emulated ones if there are none",
        "launch": "Start a program on many cards, here or on other machines",
        "emulate": "The virtual Ascend machine: environment, npu-smi, coverage",
    },
    "Set up a machine": {
        "plan": "Find versions that fit together, and the steps to install them",
        "doctor": "Check a machine: driver, CANN, frameworks, cards, network",
        "smi": "The NPUs of this machine: use, memory, processes, free cards",
        "net": "Plan, set and check the addresses of the cards",
        "ranktable": "Make, check and convert rank tables",
        "selftest": "Prove this machine's cards against the emulator, case by case",
    },
    "Find out why": {
        "explain": "Explain an error, a log or a finding",
        "compare": "Check that it computes the same, and find the first difference",
        "perf": "Find where the time goes on the card, and what to change first",
        "report": "Join what ran into one site: where it stands, what is next",
    },
    "Go further": {
        "parallel": "Find a parallel plan that fits these cards, and its code",
        "export": "Offline inference: check an ONNX model, ATC command, stand-in",
        "cloud": "OBS and ModelArts: storage, jobs, a stand-in on this machine",
    },
    "Jumar itself": {
        "trust": "Let a project's jumar.toml name rules, interpreters, buckets",
        "completion": "Complete commands, chips, rules and jobs with the Tab key",
    },
}
"""Verbs with one line of help; the command is `command` in `jumar.cli.cmd_<verb>`."""

EXAMPLES = {
    "analyze": ("jumar analyze path/to/project", "jumar analyze . --html report.html --plan plan.html"),
    "cloud": (
        "jumar cloud submit --code code --boot train.py --data data --devices 2",
        "jumar cloud logs --follow",
        "jumar cloud pull -o out",
    ),
    "compare": (
        "jumar compare record -o cpu.rec --floor 2 -- jumar run train.py --device cpu",
        "jumar compare record -o npu.rec -- jumar run train.py",
        "jumar compare cpu.rec npu.rec",
    ),
    "completion": ("jumar completion install", "jumar completion install zsh"),
    "doctor": ("jumar doctor", "jumar doctor --host user@node", "jumar emulate shell jumar doctor"),
    "emulate": (
        'eval "$(jumar emulate env)"',
        "jumar emulate shell npu-smi info",
        "jumar emulate coverage aclnnAdd",
    ),
    "explain": (
        "jumar explain train.log",
        "jumar explain 507015",
        "jumar explain PT101",
        "kubectl logs job | jumar explain -",
    ),
    "export": ("jumar export check model.onnx", "jumar export command model.onnx --chip 310P3"),
    "launch": (
        "jumar launch --cards 8 train.py --epochs 3",
        "jumar launch --nodes host1,host2 train.py",
        "jumar launch --on slurm --nodes 2 --cards 8 --print train.py",
    ),
    "migrate": (
        "jumar migrate path/to/project",
        "jumar migrate path/to/project -o path/to/copy --html report.html",
        "jumar migrate . --write --verify",
        "jumar migrate . --multi-card -o ../cards",
    ),
    "net": ("jumar net plan --help", "jumar net check"),
    "parallel": ("jumar parallel llama-7b --cards 8 --chip 910B3 --global-batch 16",),
    "perf": ("jumar perf read prof/", "jumar perf lint --cpu --steps 5 -- python train.py"),
    "plan": (
        "jumar plan --chip 910B3 --framework torch==2.6.0",
        "jumar plan --chip 910B3 --framework torch==2.6.0 --format shell > install.sh",
    ),
    "ranktable": ("jumar ranktable make --help", "jumar ranktable check hccl.json"),
    "report": ("jumar report", "jumar report path/to/project -o site"),
    "run": (
        "jumar run train.py --epochs 1",
        "jumar run --soc 310P3 --cards 2 train.py",
        "jumar run --cuda train.py",
        "jumar run --dry --world 512 --rank 3 train.py",
        "jumar run -c 'import torch; print(torch.ones(3).npu())'",
    ),
    "selftest": ("jumar selftest", "jumar selftest --emulated --only guide", "jumar selftest read jumar-selftest.zip"),
    "trust": ("jumar trust path/to/project --print", "jumar trust path/to/project", "jumar trust --list"),
    "smi": ("jumar smi", "jumar smi --watch 5"),
}
"""What to type first; shown below the options of each verb."""


def verbs() -> dict[str, str]:
    """Every verb and its one line, in the order of the help."""
    return {verb: text for below in TASKS.values() for verb, text in below.items()}


def epilog(verb: str) -> str:
    """The examples as click prints them: as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[verb])
