"""What `jumar cloud` prints: rows for `--json`, lines for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jumar.core.printable import in_json
from jumar.core.words import counted

if TYPE_CHECKING:
    from jumar.app.cloud_jobs import Pulled
    from jumar.app.cloud_machine import Served, SshEntry
    from jumar.app.cloud_storage import Copied, Listing, Synced
    from jumar.cloud.job import Job
    from jumar.cloud.jobs import JobPlan

Row = dict[str, Any]


def listing_rows(found: Listing) -> list[Row]:
    objects: list[Row] = [{"key": entry.key, "size": entry.size, "etag": entry.etag} for entry in found.entries]
    return [*({"bucket": name} for name in found.buckets), *objects]


def listing(found: Listing) -> list[str]:
    lines = [f"obs://{name}/" for name in found.buckets]
    for entry in found.entries:
        size = "" if entry.key.endswith("/") and not entry.size else str(entry.size)
        lines.append(f"{size:>14} {found.place._replace(key=entry.key)}")
    return lines


def copied_row(one: Copied) -> Row:
    return {"from": one.source, "to": one.destination}


def copied(one: Copied) -> str:
    return f"{one.source} -> {one.destination}"


def synced_row(done: Synced) -> Row:
    return {"copied": len(done.copies), "bytes": done.bytes, "skipped": done.skipped, "removed": done.removed,
            "seconds": round(done.seconds, 3), "left_out": list(done.left_out)}  # fmt: skip


def synced(done: Synced, *, delete: bool) -> str:
    rate = f"{human(done.bytes)} in {done.seconds:.1f} s ({human(int(done.bytes / done.seconds))}/s)"
    removed = f", {done.removed} removed" if delete else ""
    return f"{counted(len(done.copies), 'file')}, {rate}, {done.skipped} unchanged{removed}"


def left_out(names: Sequence[str]) -> list[str]:
    """What is said of links and special files, which are not copied."""
    if not names:
        return []
    shown = ", ".join(f"`{name}`" for name in names[:5]) + (", …" if len(names) > 5 else "")
    return [f"not copied: {shown}: no file (a link to a folder, out of the project or to nowhere, a pipe)"]


def plan_row(plan: JobPlan) -> Row:
    leaks = [leak._asdict() for leak in plan.leaks]
    return {"body": plan.request, "uploads": _uploads(plan), "secrets": leaks, "cost": plan.cost}


def plan(found: JobPlan) -> list[str]:
    lines = [f"make the bucket {found.new_bucket}"] if found.new_bucket else []
    for one in _uploads(found):
        what = f"{counted(one['files'], 'file')}, {human(one['bytes'])}"
        lines.append(f"upload {what} to {one['to']}; {one['unchanged']} unchanged")
        lines += left_out(one["left_out"])
    lines += [f"{leak.path}:{leak.line}: {leak.what}" for leak in found.leaks]
    if found.spec.hours:
        bound = f"; costs at most {found.cost:.2f}" if found.cost is not None else ""
        lines.append(f"stops by itself after {found.spec.hours:g} hours{bound}")
    else:
        lines.append("does not stop automatically: version 1 of the interface has no `auto_stop`")
    return [*lines, in_json(json.dumps(found.request, indent=2, ensure_ascii=False))]


def job_row(job: Job) -> Row:
    return {"id": job.id, "name": job.spec.name, "phase": str(job.state), "duration": job.duration}


def jobs(found: Sequence[Job]) -> list[str]:
    return [f"{job.id}  {job.state!s:<11} {job.spec.name}" for job in found]


def ended(job: Job, *, is_local: bool) -> list[str]:
    lines = [f"job {job.id}: {job.state}"]
    if is_local and job.lost:
        lines.append("hint: the process that ran the job no longer exists: it was killed, or the disk is full")
    if job.warning:
        lines.append(f"warning: {job.warning}")
        lines.append("hint: write results below `--train_url`; `jumar cloud adapt` makes a script do so")
    return lines


def pulled_row(one: Pulled) -> Row:
    return {"folder": str(one.folder), "files": one.files, "bytes": one.bytes, "skipped": one.skipped}


def pulled(one: Pulled) -> str:
    return f"{one.folder}: {counted(one.files, 'file')}, {human(one.bytes)}, {one.skipped} unchanged"


def served(found: Served) -> list[str]:
    return [
        f"OBS        http://127.0.0.1:{found.obs_port}",
        f"ModelArts  http://127.0.0.1:{found.modelarts_port}  project {found.project}",
        f"key pair   {found.keys}",
    ]


def ssh_row(found: SshEntry) -> Row:
    return {"host": found.host, "config": str(found.config), "entry": found.entry, "pin": found.pin}


def ssh(found: SshEntry) -> list[str]:
    last = f"wrote `{found.config}`" if found.written else "add `--write` to write it"
    pin = ["# pin the host key once, and compare it with the console's:", f"# {found.pin}", f"# {last}"]
    return [found.entry.rstrip(), *pin]


def human(size: int) -> str:
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def _uploads(plan: JobPlan) -> list[Row]:
    return [
        {
            "to": str(one.place),
            "files": one.files,
            "bytes": one.size,
            "unchanged": one.skipped,
            "left_out": list(one.left_out),
        }
        for one in plan.uploads
    ]
