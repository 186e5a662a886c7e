"""The storage half of `jumar cloud`: ls, cp, sync, rm, mb."""

from __future__ import annotations

from typing import Any

import click

from jumar.app import cloud_storage as app
from jumar.app.cloud_storage import CopyRequest, StoreRequest, Synced
from jumar.cli.cloud_common import COPY, SHARED, options, show
from jumar.cli.progress import Transfer
from jumar.core.errors import EXIT_OK, UserError
from jumar.report import cloud as report


@click.command("ls")
@click.argument("address", required=False, metavar="[ADDRESS]")
@click.option("-r", "--recursive", is_flag=True, help="List everything below, not one level.")
@options(SHARED)
def ls(address: str | None, recursive: bool, target: str | None, endpoint: str | None, as_json: bool) -> int:
    """List the buckets, or what is at obs://bucket/folder/."""
    found = app.listing(address, StoreRequest(target, endpoint), recursive=recursive)
    show(report.listing_rows(found), report.listing(found), as_json)
    return EXIT_OK


@click.command("mb")
@click.argument("address", metavar="ADDRESS")
@options(SHARED)
def mb(address: str, target: str | None, endpoint: str | None, as_json: bool) -> int:
    """Make a bucket: jumar cloud mb obs://bucket."""
    made = app.make_bucket(address, StoreRequest(target, endpoint))
    show([{"bucket": made.bucket}], [str(made)], as_json)
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
    request = _request(source, destination, rest)
    if recursive:
        with Transfer(quiet=rest["quiet"]) as bar:
            done = app.copy_folder(request, bar, contents=contents)
        return _show(done, rest, delete=False)
    if contents:
        raise UserError("`--contents` is for folders", "add `-r`")
    with Transfer(quiet=rest["quiet"]) as bar:
        copied = app.copy_file(request, bar)
    quiet = rest["quiet"] and not request.dry
    show([report.copied_row(copied)], [] if quiet else [report.copied(copied)], rest["as_json"])
    return EXIT_OK


@click.command("sync")
@click.argument("source", metavar="SOURCE")
@click.argument("destination", metavar="DESTINATION")
@click.option("--delete", is_flag=True, help="Delete at DESTINATION what SOURCE does not have.")
@options(COPY, SHARED)
def sync(source: str, destination: str, delete: bool, **rest: Any) -> int:
    """Make DESTINATION equal SOURCE: the contents of a folder, only what changed."""
    with Transfer(quiet=rest["quiet"]) as bar:
        done = app.sync(_request(source, destination, rest), bar, delete=delete)
    return _show(done, rest, delete=delete)


@click.command("rm")
@click.argument("address", metavar="ADDRESS")
@click.option("-r", "--recursive", is_flag=True, help="Everything below a folder.")
@click.option("--print", "only_print", is_flag=True, help="Print what would be removed and exit.")
@options(SHARED)
def rm(address: str, recursive: bool, only_print: bool, target: str | None, endpoint: str | None, as_json: bool) -> int:
    """Remove an object, or with -r everything below obs://bucket/folder/."""
    found = app.remove(address, StoreRequest(target, endpoint), recursive=recursive, dry=only_print)
    show([{"removed": one.key} for one in found], [str(one) for one in found], as_json)
    return EXIT_OK


def _request(source: str, destination: str, rest: dict[str, Any]) -> CopyRequest:
    store = StoreRequest(rest["target"], rest["endpoint"])
    return CopyRequest(
        source, destination, store, tuple(rest["ignore"]), rest["checksum"], rest["jobs"], dry=rest["only_print"]
    )


def _show(done: Synced, rest: dict[str, Any], *, delete: bool) -> int:
    if done.dry:
        lines = [report.copied(one) for one in done.copies]
        show([{"copy": line} for line in lines], [*lines, *report.left_out(done.left_out)], rest["as_json"])
    else:
        line = [] if rest["quiet"] else [report.synced(done, delete=delete), *report.left_out(done.left_out)]
        show([report.synced_row(done)], line, rest["as_json"])
    return EXIT_OK
