"""The storage half of `jumar cloud`: ls, cp, sync, rm, mb."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from jumar.cli.cloud_common import COPY, SHARED, human, opened, options, show
from jumar.cli.progress import Transfer
from jumar.core.errors import EXIT_OK, UserError


@click.command("ls")
@click.argument("address", required=False, metavar="[ADDRESS]")
@click.option("-r", "--recursive", is_flag=True, help="List everything below, not one level.")
@options(SHARED)
def ls(address: str | None, recursive: bool, target: str | None, endpoint: str | None, as_json: bool) -> int:
    """List the buckets, or what is at obs://bucket/folder/."""
    from jumar.cloud.address import Remote, remote

    place = remote(address) if address else Remote("obs", "", "")
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    with opened(target, endpoint, place.scheme) as store:
        for name in store.buckets() if not address else ():
            rows.append({"bucket": name})
            lines.append(f"obs://{name}/")
        for entry in store.entries(place.bucket, place.key, one_level=not recursive) if address else ():
            rows.append({"key": entry.key, "size": entry.size, "etag": entry.etag})
            size = "" if entry.key.endswith("/") and not entry.size else str(entry.size)
            lines.append(f"{size:>14} {place.scheme}://{place.bucket}/{entry.key}")
    if not rows and place.key:
        raise UserError(f"nothing is stored at `{place}`", f"`jumar cloud ls {place.scheme}://{place.bucket}/`")
    show(rows, lines, as_json)
    return EXIT_OK


@click.command("mb")
@click.argument("address", metavar="ADDRESS")
@options(SHARED)
def mb(address: str, target: str | None, endpoint: str | None, as_json: bool) -> int:
    """Make a bucket: jumar cloud mb obs://bucket."""
    from jumar.cloud.address import remote

    place = remote(address)
    with opened(target, endpoint, place.scheme) as store:
        store.make_bucket(place.bucket)
    show([{"bucket": place.bucket}], [f"{place.scheme}://{place.bucket}/"], as_json)
    return EXIT_OK


@click.command("cp")
@click.argument("source", metavar="SOURCE")
@click.argument("destination", metavar="DESTINATION")
@click.option("-r", "--recursive", is_flag=True, help="Copy a folder under its own name.")
@click.option("--contents", is_flag=True, help="With -r: what is in the folder, not the folder itself.")
@options(COPY, SHARED)
def cp(source: str, destination: str, recursive: bool, contents: bool, **rest: Any) -> int:
    """Copy a file or folder to or from a bucket, or between buckets.

    `cp -r data obs://b/x/` makes obs://b/x/data/…, with --contents obs://b/x/….
    """
    from jumar.cloud import sync
    from jumar.cloud.address import Remote, parse

    start, end = parse(source), parse(destination)
    if isinstance(start, Path) and isinstance(end, Path):
        raise UserError("both are local paths", "write one of them as `obs://bucket/key`")
    if recursive:
        if not contents:
            end = _into(start, end)
        return _folder(start, end, everything=True, delete=False, **rest)
    if contents:
        raise UserError("`--contents` is for folders", "add `-r`")
    if isinstance(start, Path) and start.is_dir():
        raise UserError(f"`{source}` is a folder", "`-r` copies it; `jumar cloud sync` copies only what changed")
    scheme = next(one.scheme for one in (start, end) if isinstance(one, Remote))
    name = start.name if isinstance(start, Path) else start.key.rpartition("/")[2]
    if isinstance(end, Remote):
        end = end.child(name) if end.key == "" or end.key.endswith("/") else end
    elif end.is_dir() or destination.endswith(("/", "\\")):
        end = end / name
    if rest["only_print"]:
        show([{"from": str(start), "to": str(end)}], [f"{start} -> {end}"], rest["as_json"])
        return EXIT_OK
    with opened(rest["target"], rest["endpoint"], scheme) as store, Transfer(quiet=rest["quiet"]) as bar:
        if isinstance(start, Path):
            assert isinstance(end, Remote)
            sync.copy_one(store, start, end, bar)
        elif isinstance(end, Path):
            sync.fetch_one(store, start, end, bar)
        else:
            store.copy(start.bucket, start.key, end.bucket, end.key)
    show([{"from": str(start), "to": str(end)}], [] if rest["quiet"] else [f"{start} -> {end}"], rest["as_json"])
    return EXIT_OK


@click.command("sync")
@click.argument("source", metavar="SOURCE")
@click.argument("destination", metavar="DESTINATION")
@click.option("--delete", is_flag=True, help="Delete at DESTINATION what SOURCE does not have.")
@options(COPY, SHARED)
def sync(source: str, destination: str, delete: bool, **rest: Any) -> int:
    """Make DESTINATION equal SOURCE: the contents of a folder, only what changed."""
    from jumar.cloud.address import parse

    return _folder(parse(source), parse(destination), everything=False, delete=delete, **rest)


@click.command("rm")
@click.argument("address", metavar="ADDRESS")
@click.option("-r", "--recursive", is_flag=True, help="Everything below a folder.")
@click.option("--print", "only_print", is_flag=True, help="Print what would be removed and exit.")
@options(SHARED)
def rm(address: str, recursive: bool, only_print: bool, target: str | None, endpoint: str | None, as_json: bool) -> int:
    """Remove an object, or with -r everything below obs://bucket/folder/."""
    from jumar.cloud.address import remote

    place = remote(address)
    if not place.key and not recursive:
        raise UserError(f"`{place}` is a whole bucket", "`-r` removes what is in it")
    with opened(target, endpoint, place.scheme) as store:
        if recursive:
            found = [entry.key for entry in store.entries(place.bucket, place.folder_key)]
        else:
            found = [place.key] if store.head(place.bucket, place.key) is not None else []
        if not found:
            raise UserError(f"nothing is stored at `{place}`", "`-r` removes a folder" if not recursive else None)
        if not only_print:
            store.delete(place.bucket, found)
    show([{"removed": key} for key in found], [f"{place.scheme}://{place.bucket}/{key}" for key in found], as_json)
    return EXIT_OK


def _folder(start: Any, end: Any, *, everything: bool, delete: bool, **rest: Any) -> int:
    from jumar.cloud import sync
    from jumar.cloud.address import Remote

    request = sync.SyncRequest(tuple(rest["ignore"]), rest["checksum"], delete, everything)
    place = next((one for one in (start, end) if isinstance(one, Remote)), None)
    if place is None:
        raise UserError("both are local paths", "write one of them as `obs://bucket/folder/`")
    with opened(rest["target"], rest["endpoint"], place.scheme) as store:
        if isinstance(start, Path):
            plan = sync.plan_upload(store, start, end, request)
        elif isinstance(end, Path):
            plan = sync.plan_download(store, start, end, request)
        else:
            raise UserError("both are in buckets", "`jumar cloud cp` copies one object between buckets")
        copied = [f"{up.source.path} -> {place.child(up.source.name)}" for up in plan.uploads]
        copied += [f"{place.scheme}://{place.bucket}/{down.entry.key} -> {down.path}" for down in plan.downloads]
        began = time.monotonic()
        if rest["only_print"]:
            show([{"copy": line} for line in copied], copied, rest["as_json"])
            return EXIT_OK
        with Transfer(quiet=rest["quiet"]) as bar:
            sync.run(store, plan, bar, rest["jobs"])
    took = max(time.monotonic() - began, 1e-6)
    row = {"copied": plan.files, "bytes": plan.size, "skipped": plan.skipped, "removed": len(plan.deletes),
           "seconds": round(took, 3)}  # fmt: skip
    line = (f"{plan.files} files, {human(plan.size)} in {took:.1f} s ({human(int(plan.size / took))}/s),"
            f" {plan.skipped} unchanged" + (f", {len(plan.deletes)} removed" if delete else ""))  # fmt: skip
    show([row], [] if rest["quiet"] else [line], rest["as_json"])
    return EXIT_OK


def _into(start: Any, end: Any) -> Any:
    """The folder itself goes into the destination, under its own name."""
    name = start.absolute().name if isinstance(start, Path) else start.key.rstrip("/").rpartition("/")[2]
    if not name:
        raise UserError(f"`{start}` has no name of its own", "add `--contents`")
    return end / name if isinstance(end, Path) else end.child(name + "/")
