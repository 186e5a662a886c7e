"""Which texts are words for people: not commands, SQL, markup, Python, or lines of others' files."""

from __future__ import annotations

import ast
import re
import warnings

_PROSE = re.compile(
    r"[A-Za-z]{2,}['\"`)]?[,;:]? ['\"`(]?(?:[a-z]{1,}|\{)|\} [a-z]{2,}|[a-z]{2,}: \{|^(?:, |; | )[a-z]{3,}"
)
_OTHER = re.compile(
    r"""^(?:--?\w | [\w./-]+= | ,\ \w+= | import\  | def\  | class\  | \(\? | \^ | \#! | <\w | @ | \| | //
          | \*\ \w+\ n | aipp_op\  | \{" | \{\*\*)
      | \\[sdwSbB] | \(\?: | </ | <\?xml | \n\n\|\  | \ \{\ ?[a-z-]+:
      | ^(?:PRAGMA|CREATE\ TABLE|INSERT|DELETE\ FROM|SELECT)\ """,
    re.X,
)
"""Options, patterns, markup, style sheets, SQL."""
_SHELL = re.compile(
    r"""^(?:\{\w*\}\ (?:-m\ pip|(?:un)?install|show|-i|dkms|gcc) | docker\ run | npu-smi\ (?:info|set|-) | ulimit | bash
          | cd | exec | export\ (?:\S+=|\{)\S* | grep\ - | sudo | pip\ install | kubectl | eval | rm | id | set\ -\w+
          | printf | umask | has_\w+ | poetry | uv | pipenv | pdm | pixi)(?:\ (?!\#)[^;()\s]*)*$
      | ^(?:RUN|FROM|COPY|ENTRYPOINT|ENV)\ \S
      | ^(?:for|if|until)\ .*;\ (?:do|then)\b
      | ^(?:jumar\ [^\#]*$ | say\ " | echo\ " | python(?:3|\{\w*\})?\ - | pytest\ - | \{\ )
      | ^(?:umask|groupadd|npu-smi\ info\ \|\|)\s
      | \n.*(?:\$[({]|"\$)
      | ^[^\#]*(?:"\$|\$\()[^\#]*$""",
    re.X,
)
"""A command without a remark behind `#`; lines of scripts."""
_CODE = (
    ast.Call, ast.Attribute, ast.Subscript, ast.Import, ast.ImportFrom, ast.Assign, ast.AugAssign, ast.Return,
    ast.Yield, ast.For, ast.With, ast.While, ast.If, ast.Dict, ast.List, ast.Raise,
)  # fmt: skip
KEPT = frozenset(
    line.strip()
    for line in """
    127.0.0.1 localhost {}
    passwd: files
    Max open files
    Max processes
    hicann/runtime docs/zh/api_ref/25-01_aclError.md
    hicann/runtime src/dfx/error_manager/error_code.json
    hccl_types.h of the published torch_npu 2.13.0 wheel
    deepspeedai/DeepSpeed accelerator setup guide; gitee.com/ascend/DeepSpeed
    hicann/runtime README.md (CANN asks for 3.7 or newer)
    CANN toolkit
    driver home
    Process id
    Process name
    Process memory(MB)
    Process id in container
    text/plain; version=0.0.4; charset=utf-8
    export master port
    export SRUN_CPUS_PER_TASK={}  # srun does not take it from sbatch
    {}exec {} {}
    Using `torch.compile.module.` when there are global hooks
    noise {}
    scale {}
    Input type
    Call stack
    Thread {}
    Sequence number
    Fwd thread id
    Communication(Not Overlapped and Exclude Receive)
    submitted by jumar
    Host {}
    HostName {}
    Port {}
    User {}
    IdentityFile {}
    IdentitiesOnly yes
    UserKnownHostsFile {}
    StrictHostKeyChecking yes
    mount {}
    mount_setattr {}
    [rank {}]
    num c-{}
    bold red
    model name
    CPU implementer
    CPU variant
    CPU part
    During handling of the above exception
    The above exception was the direct cause
    Traceback (most recent call last)
    selftest archive {}
    {} as {}
    {} head -c {} {}; fi
    Written by jumar {} without an NPU; the program ran on: {}.
    grep -s "" {}/*/vendor {}/*/device {}/*/class
    {} uninstall -y te topi hccl
    File {}, line {}, in forward,
    constexpr Facts {}[] = {
    {}.no_sync() if WORLD_SIZE > 1 and not ({})
    with {} else contextlib.nullcontext():
    {} or WORLD_SIZE > 1
    or getattr({}, "is_hccl_available", bool)())
    ## Functions of the stand-in libraries
    Keyword argument {} was specified but unrecognised
    Pointer argument (at {}) cannot be accessed from Triton (cpu tensor?)
    module `jumar.cloud` has no attribute `{}`
    {} --format shell > install.sh
    {} --reproducer reproduce.py
    plain
    late
    restart
    open
    step {} {} {} "{}"{}
    is not None
    not in
    other rule
    name of an option
    name of the module
    key of a table
    optional kernels
    own methods
    of an f-string
    names for NPUs
    names given cuda
    names with other words
    """.splitlines()
    if line.strip()
)
"""Look like words and are none of ours: keys of caches, titles and sentences of others, lines of their files."""


def is_prose(text: str, *, program: bool = True) -> bool:
    """Has it words beside commands and values? Rows of a table may be sentences that begin with a command."""
    plain = text.strip()
    if not re.search(r"[A-Za-z]{2}", re.sub(r"`[^`]*`|\{\w*\}", "", plain)) or plain.startswith(("# ", '"""')):
        return False
    said = _PROSE.search(text if text.startswith((", ", "; ", " ")) else plain)
    if not said or _OTHER.search(plain) or plain.partition("\n")[0].rstrip() in KEPT or is_python(plain):
        return False
    return not (_SHELL.search(plain) if program else plain.startswith(("jumar ", "eval ", "kubectl ")))


def is_python(text: str) -> bool:
    """Does it parse, and hold more than names and operators that English has too, such as `not` and `or`?"""
    if re.search(r"[\w}] \(", text):
        return False
    filled = re.sub(r"\{\w*\}|…", "x", text)
    for code in (filled, f"{filled} pass", f"{filled}\n    pass"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(code)
        except (SyntaxError, ValueError):
            continue
        return any(isinstance(node, _CODE) for node in ast.walk(tree))
    return False
