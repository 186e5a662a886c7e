"""A loopback store in this process, and official clients of it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud.disk import Disk
from jumar.cloud.standin.http import Server
from jumar.cloud.standin.obs_server import Store

ACCESS, SECRET = "JUMARTESTACCESSKEY00", "jumar/test+secret0123456789abcdefghijklmn"
DOMAIN = "obs.local.test"


class Loopback:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = Disk(root)
        self.server = Server(Store(self.disk, {ACCESS: SECRET}, (DOMAIN, "localhost"))).start()
        self.endpoint = f"http://127.0.0.1:{self.server.port}"


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Loopback]:
    root = tmp_path / "store"
    root.mkdir()
    running = Loopback(root)
    yield running
    running.server.close()


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names below the test domain lead to the loopback interface."""
    real = socket.getaddrinfo

    def look(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return real("127.0.0.1" if name and name.endswith(DOMAIN) else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look)


@pytest.fixture
def esdk(loopback: Loopback, resolve: None) -> Iterator[Callable[..., Any]]:
    obs = pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
    made = []

    def client(signature: str = "obs", secret: str = SECRET) -> Any:
        host = f"http://{DOMAIN}:{loopback.server.port}" if signature == "obs" else loopback.endpoint
        made.append(obs.ObsClient(ACCESS, secret, server=host, signature=signature, region="local", max_retry_count=0))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture
def s3(loopback: Loopback, resolve: None) -> Iterator[Callable[..., Any]]:
    boto3 = pytest.importorskip("boto3", reason="boto3 is the official client of S3")
    from botocore.config import Config

    made = []

    def client(version: str = "s3v4", style: str = "path", secret: str = SECRET, **more: Any) -> Any:
        config = Config(signature_version=version, s3={"addressing_style": style}, retries={"max_attempts": 0}, **more)
        endpoint = loopback.endpoint if style == "path" else f"http://{DOMAIN}:{loopback.server.port}"
        made.append(boto3.client("s3", endpoint_url=endpoint, aws_access_key_id=ACCESS, aws_secret_access_key=secret,
                                 region_name="local", config=config))  # fmt: skip
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture(params=["folder", "obs", "s3"])
def store(request: pytest.FixtureRequest, loopback: Loopback) -> Any:
    """Each of the three backends, with a bucket."""
    from jumar.cloud.credentials import Credentials
    from jumar.cloud.store.obs import Endpoint

    pair = Credentials(ACCESS, SECRET, f"127.0.0.1:{loopback.server.port}")
    endpoint = Endpoint(loopback.endpoint, "local")
    if request.param == "folder":
        from jumar.cloud.store.folder import FolderStore

        made: Any = FolderStore(loopback.root)
    elif request.param == "obs":
        pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
        from jumar.cloud.store.obs import ObsStore

        made = ObsStore(endpoint, pair)
    else:
        pytest.importorskip("boto3", reason="boto3 is the official client of S3")
        from jumar.cloud.store.s3 import S3Store

        made = S3Store(endpoint, pair)
    made.make_bucket("bucket-1")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's keys or the user's stand-in."""
    for name in ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK", "OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY",
                 "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "HW_ACCESS_KEY", "HW_SECRET_KEY",
                 "HUAWEICLOUD_SDK_AUTH_TOKEN", "OS_AUTH_TOKEN", "HUAWEICLOUD_SDK_REGION",
                 "HW_REGION_NAME"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUMAR_CLOUD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JUMAR_CREDENTIALS", str(tmp_path / "credentials.toml"))
