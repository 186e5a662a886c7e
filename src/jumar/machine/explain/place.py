"""Who wrote a line and when: the rank and the time, from the line itself, the lines above it, or the file's name."""

from __future__ import annotations

import re
from itertools import islice

from jumar.machine.explain.result import Moment

_RANK = re.compile(
    r"""\[(?:rank|default)(\d+)\]:           # torch, torchrun --tee
      | \bRankID:(\d+)                       # torch_npu
      | ^\s*\[\d+,(\d+)\]<std(?:out|err)>    # mpirun --tag-output
      | ^\s*(\d+):\ (?=\S)                   # srun --label
      | \[Rank\ (\d+)\]                      # the watchdog of a process group
      | \(\w*Worker[\ _](?:\w*_)?TP(\d+)     # vLLM
      | \(\w*Worker\ rank=(\d+)\b
    """,
    re.X,
)
_FILE = re.compile(
    r"""(?:^|[/_.-])rank[_.-]?(\d+)(?:\.\w+)*$                 # rank3.txt, train_rank_3.log
      | (?:^|/)(?:worker|train_log|log)_?(\d+)(?:\.\w+)*$      # msrun's worker_3.log, train_log3.txt
      | attempt_\d+/(\d+)/std(?:out|err)\.log$                # torchrun --log-dir
      | (?:^|/)(?:rank|worker|device)[_-]?(\d+)/[^/]*$        # rank_3/train.log; CANN's device-0/device-0_2024.log
    """,
    re.X,
)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_TIME = re.compile(
    r"""(?P<year>(?:19|20)\d\d)[-/](?P<month>\d\d)[-/](?P<day>\d\d)[-T_ ]
        (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<part>\d{3}))?(?:\.(?P<more>\d{3}))?
      | \b[IWEF](?P<gmonth>\d{1,2}?)(?P<gday>\d\d)\ (?P<ghour>\d\d):(?P<gminute>\d\d):(?P<gsecond>\d\d)\.(?P<gpart>\d+)
      | \b(?P<vmonth>[01]\d)-(?P<vday>[0-3]\d)\ (?P<vhour>\d\d):(?P<vminute>\d\d):(?P<vsecond>\d\d)\b
      | \b(?P<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\ +(?P<nday>\d{1,2})
        \ (?P<nhour>\d\d):(?P<nminute>\d\d):(?P<nsecond>\d\d)(?:\ (?P<nyear>\d{4}))?
    """,
    re.X,
)


def rank_of_line(text: str) -> int | None:
    match = _RANK.search(text)
    if match is None:
        return None
    return int(match[match.lastindex or 0])


def rank_of_file(name: str) -> int | None:
    match = _FILE.search(name)
    return int(match[match.lastindex or 0]) if match else None


def time_of(text: str, before: str) -> Moment | None:
    """The time on the line, else the last one above it."""
    found = [*islice(_TIME.finditer(text), 1)] or [*_TIME.finditer(before)]
    return _moment(found[-1]) if found else None


def _moment(match: re.Match[str]) -> Moment | None:
    parts = {name: value for name, value in match.groupdict().items() if value}
    for mark, date in (("", ("year", "month", "day")), ("g", ("", "gmonth", "gday")), ("v", ("", "vmonth", "vday"))):
        if f"{mark}hour" in parts:
            return _made(parts, mark, parts.get(date[0], "0"), int(parts[date[1]]), parts[date[2]])
    return _made(parts, "n", parts.get("nyear", "0"), _MONTHS.index(parts["name"]) + 1, parts["nday"])


def _made(parts: dict[str, str], mark: str, year: str, month: int, day: str) -> Moment | None:
    hour, minute, second = (int(parts[mark + name]) for name in ("hour", "minute", "second"))
    if not (1 <= month <= 12 and 1 <= int(day) <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    fraction = parts.get("gpart", "") if mark == "g" else parts.get("part", "") + parts.get("more", "")
    return Moment(int(year), month, int(day), 3600 * hour + 60 * minute + second + float(f"0.{fraction or 0}"))
