"""Buckets are folders below $BUCKETS; every transfer is noted there."""

import os
import shutil
import time
from types import SimpleNamespace


def _local(url):
    return os.path.join(os.environ["BUCKETS"], url.split("://")[1]) if "://" in url else url


def copy_parallel(src_url, dst_url, **kwargs):
    with open(os.path.join(os.environ["BUCKETS"], "transfers"), "a") as log:
        log.write(f"{src_url} {dst_url}\n")
    time.sleep(float(os.environ.get("SLOW", 0)))
    if os.environ.get("BROKEN"):
        raise OSError("the bucket is not there")
    source, target = _local(src_url), _local(dst_url)
    for top, _, names in os.walk(source):
        for name in names:
            new = os.path.join(target, os.path.relpath(os.path.join(top, name), source))
            os.makedirs(os.path.dirname(new), exist_ok=True)
            shutil.copyfile(os.path.join(top, name), new)


def copy(src_url, dst_url):
    shutil.copyfile(_local(src_url), _local(dst_url))


def is_directory(url):
    return os.path.isdir(_local(url))


def exists(url):
    return os.path.exists(_local(url))


file = SimpleNamespace(copy_parallel=copy_parallel, copy=copy, is_directory=is_directory, exists=exists)
