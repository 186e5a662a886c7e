"""Storage for Python programs, with the names that users of the ModelArts SDK know; keys never pass through here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from jumar.cloud import sync, target
from jumar.cloud.address import Remote, remote
from jumar.cloud.store import Store

Local = Union[str, "os.PathLike[str]"]


class Session:
    """`Session().obs` is the store of a target: the stand-in on this machine if nothing else is said."""

    def __init__(self, target_name: str | None = None, *, endpoint: str | None = None) -> None:
        name = target_name or (target.HUAWEICLOUD if endpoint else None)
        found = target.find(name, target.load_config(Path()))
        self.target = found._replace(obs_endpoint=endpoint) if endpoint else found
        self.obs = Obs(target.open_store(self.target))

    def close(self) -> None:
        self.obs.store.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Obs:
    """Files and folders to and from buckets.

    As in the ModelArts SDK a folder keeps its name (`upload_dir("a/data", "obs://b/x/")` makes `x/data/…`);
    `contents=True` copies what is in it (`x/…`).
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def upload_file(self, src_local_file: Local, dst_obs_dir: str) -> str:
        """One file into a folder; the address it got."""
        source = Path(src_local_file)
        place = remote(dst_obs_dir).child(source.name)
        sync.copy_one(self.store, source, place)
        return str(place)

    def upload_dir(self, src_local_dir: Local, dst_obs_dir: str, *, contents: bool = False) -> str:
        source = Path(src_local_dir)
        place = remote(dst_obs_dir)
        place = place._replace(key=place.folder_key) if contents else place.child(source.absolute().name + "/")
        sync.run(self.store, sync.plan_upload(self.store, source, place))
        return str(place)

    def download_file(self, src_obs_file: str, dst_local_dir: Local) -> Path:
        place = remote(src_obs_file)
        path = Path(dst_local_dir) / place.key.rpartition("/")[2]
        sync.fetch_one(self.store, place, path)
        return path

    def download_dir(self, src_obs_dir: str, dst_local_dir: Local, *, contents: bool = False) -> Path:
        place = remote(src_obs_dir)
        folder = Path(dst_local_dir)
        if not contents:
            folder = folder / (place.key.rstrip("/").rpartition("/")[2] or place.bucket)
        sync.run(self.store, sync.plan_download(self.store, place, folder))
        return folder

    def make_bucket(self, name: str) -> Remote:
        self.store.make_bucket(name)
        return Remote("obs", name, "")
