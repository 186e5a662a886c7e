"""Keys and tokens go to the hosts that they are for, whatever a project's file, an answer or an address says."""

from __future__ import annotations

import ast
import contextlib
import gc
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud import Session, credentials, hosts
from jumar.cloud.credentials import Credentials
from jumar.cloud.rest import Rest
from jumar.cloud.standin import service
from jumar.cloud.standin.http import Answer, Request, Server
from jumar.cloud.store.obs import Endpoint
from jumar.core.errors import UserError
from jumar.runtime import settings

Jumar = Callable[..., Any]
VENDOR = "https://obs.cn-north-4.myhuaweicloud.com"
TOKEN, SECRET = "TOKENWORD-0123456789", "SECRETWORD-0123456789"


class Heard:
    """A server that keeps what it is asked, and answers as it is told."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answer = Answer(200, {"Content-Type": "application/json"}, b"{}")
        self.server = Server(self._hear).start()
        self.host = f"127.0.0.1:{self.server.port}"
        self.url = f"http://{self.host}"

    def _hear(self, request: Request) -> Answer:
        request.body.read()
        self.requests.append((f"{request.method} {request.raw_path}", dict(request.headers)))
        return self.answer

    @property
    def text(self) -> str:
        return repr(self.requests)


@pytest.fixture
def thief() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.server.close()


@pytest.fixture
def right() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.server.close()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every place that keys are taken from holds some."""
    for rows in credentials.VARIABLES.values():
        for access, secret, token in rows:
            monkeypatch.setenv(access, "ACCESSWORD")
            monkeypatch.setenv(secret, SECRET)
            monkeypatch.setenv(token, TOKEN)
    for name in credentials.TOKENS:
        monkeypatch.setenv(name, TOKEN)
    path = tmp_path / "credentials.toml"
    sections = ("huaweicloud", "centre")
    path.write_text("".join(f'[{one}]\naccess_key = "ACCESSWORD"\nsecret_key = "{SECRET}"\n' for one in sections))
    path.chmod(0o600)


@pytest.mark.parametrize(
    "url",
    [
        VENDOR,
        "https://obs.myhuaweicloud.com",
        "https://modelarts.ap-southeast-1.myhuaweicloud.cn",
        "https://iam.eu-west-101.myhuaweicloud.eu/",
        "https://OBS.cn-north-4.MyHuaweiCloud.com.:443",
    ],
)
def test_services_of_the_vendor(url: str) -> None:
    assert hosts.of(url).vendor == "huaweicloud"
    assert not hosts.is_foreign(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://obs.cn-north-4.myhuaweicloud.com.evil.example",
        "https://evilmyhuaweicloud.com",
        "https://obs.evilmyhuaweicloud.com",
        "https://myhuaweicloud.com",
        "https://bucket.obs.cn-north-4.myhuaweicloud.com",
        "https://obs.a.b.myhuaweicloud.com",
        "https://apig.cn-north-4.myhuaweicloud.com",
        "https://obs.cn-north-4.myhuaweicloud.com:8443",
        "https://s3.amazonaws.com",
        "https://127.0.0.1",
        "http://127.0.0.1:9000",
    ],
)
def test_other_hosts_are_not_the_vendors(url: str) -> None:
    assert hosts.of(url).vendor != "huaweicloud"
    assert hosts.is_foreign(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://obs.cn-north-4.myhuaweicloud.com",
        "https://user@obs.cn-north-4.myhuaweicloud.com",
        "https://obs.cn-north-4.myhuaweicloud.com@evil.example",
        "https://evil.example#.myhuaweicloud.com",
        "https://evil.example?.myhuaweicloud.com",
        "https://evil.example/.myhuaweicloud.com",
        "https://evil.example\\.myhuaweicloud.com",
        "https://obs.cn-north-4.myhuaweicloud.com:x",
        "https://obs.cn-north-4.myhuaweicloud.com:99999",
        "https://[::1",
        "https://",
        "https://obs.ｍyhuaweicloud.com",
        "https://obs .myhuaweicloud.com",
        "file:///etc/passwd",
        "ftp://127.0.0.1",
        "",
    ],
)
def test_addresses_that_no_key_is_sent_to(url: str) -> None:
    with pytest.raises(UserError, match="not a safe endpoint for keys"):
        hosts.of(url)
    assert hosts.is_foreign(url) is (url != "")


def test_a_region_cannot_name_another_host(jumar: Jumar, keys: None, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for region in ("x@evil.example/", "x/../y", "evil.example#", "a.b", "-x"):
        Path("jumar.toml").write_text(f'[cloud.targets.huaweicloud]\nregion = "{region}"\nproject_id = "p"\n')
        done = jumar("cloud", "ls-jobs", "--target", "huaweicloud")
        assert (done.code, done.err.splitlines()[0]) == (2, f"error: not a region: `{region}`")
    Path("jumar.toml").write_text('[cloud.targets.huaweicloud]\nregion = "cn-north-4"\nproject_id = "../../x"\n')
    assert "not a project id: `../../x`" in jumar("cloud", "ls-jobs", "--target", "huaweicloud").err


WORDS = [("ls-jobs",), ("logs", "1"), ("ls",), ("ls", "obs://bucket-1/"), ("ls", "s3://bucket-1/"),
         ("submit", "--code", ".", "--boot", "a.py", "--bucket", "bucket-1")]  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("is_trusted", [False, True], ids=["unknown", "trusted"])
def test_a_project_never_redirects_keys(
    jumar: Jumar, keys: None, thief: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], is_trusted: bool, trusted: Callable[[Path], None],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("pass\n")
    for target in ("huaweicloud", "centre"):
        Path("jumar.toml").write_text(
            f'[cloud]\nbucket = "theirs-1"\n[cloud.targets.{target}]\nregion = "cn-north-4"\nproject_id = "p"\n'
            + "".join(f'{name}_endpoint = "{thief.url}"\n' for name in ("obs", "modelarts", "iam"))
        )
        if is_trusted:
            trusted(tmp_path)
        with _no_network(monkeypatch):
            done = jumar("cloud", *words, "--target", target)
        assert done.code == 2
        assert "endpoints outside Huawei Cloud count only in" in done.err
        assert thief.requests == []
        assert SECRET not in done.out + done.err and TOKEN not in done.out + done.err


@contextlib.contextmanager
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The vendor's hosts cannot be reached from a test; the thief could be."""
    import socket

    real = socket.getaddrinfo

    def look(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in ("127.0.0.1", b"127.0.0.1"):
            raise socket.gaierror(socket.EAI_NONAME, "no network in tests")
        return real(host, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", look)
        yield


def test_a_typed_endpoint_needs_the_users_word_once(
    jumar: Jumar, keys: None, right: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
    monkeypatch.chdir(tmp_path)
    refused = jumar("cloud", "ls", "--endpoint", right.url)
    assert refused.code == 2 and right.requests == []
    hint = refused.err.split("hint: ")[1]
    command = hint[hint.index("jumar trust --host") :].split("`")[0]
    assert jumar(*shlex.split(command)[1:]).code == 0
    jumar("cloud", "ls", "--endpoint", right.url)
    assert "ACCESSWORD" in right.text
    assert jumar("trust", "--remove", "--host", right.host).code == 0
    right.requests.clear()
    assert jumar("cloud", "ls", "--endpoint", right.url).code == 2
    assert right.requests == []
    with pytest.raises(UserError, match="no stand-in whose keys could be for it"):
        Session(endpoint=right.url)
    assert "no keys are sent to `obs.example.com`" in jumar("cloud", "ls", "--endpoint", "https://obs.example.com").err


def test_loopback_gets_the_stand_ins_keys_and_no_others(
    jumar: Jumar, keys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
    monkeypatch.chdir(tmp_path)
    running = service.start(tmp_path / "home")
    with contextlib.closing(running):
        endpoint = f"http://127.0.0.1:{running.obs.port}"
        access, _ = next(iter(service.keys(tmp_path / "home").items()))
        assert jumar("cloud", "mb", "obs://bucket-1", "--endpoint", endpoint).code == 0
        assert jumar("cloud", "ls", "s3://bucket-1/", "--endpoint", endpoint).code == 0
        assert credentials.find("huaweicloud", endpoint).access_key == access
        assert credentials.token(endpoint) is None


def test_each_key_is_for_its_own_vendor(keys: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for rows in credentials.VARIABLES["huaweicloud"]:
        for name in rows:
            monkeypatch.delenv(name)
    (tmp_path / "credentials.toml").unlink()
    with pytest.raises(UserError, match="no key pair for the target `huaweicloud`"):
        credentials.find("huaweicloud", VENDOR)
    assert credentials.find("any", "https://s3.eu-west-1.amazonaws.com", s3=True).access_key == "ACCESSWORD"
    with pytest.raises(UserError, match=r"no keys are sent to `s3\.eu-west-1\.amazonaws\.com`"):
        credentials.token("https://s3.eu-west-1.amazonaws.com")


def test_a_stored_pair_names_its_hosts(tmp_path: Path, confirmed: Callable[[str], None]) -> None:
    path = tmp_path / "credentials.toml"
    path.write_text('[centre]\naccess_key = "A"\nsecret_key = "S"\nhosts = ["obs.centre.example"]\n')
    path.chmod(0o600)
    for host in ("obs.centre.example", "obs.other.example"):
        confirmed(host)
    assert credentials.find("centre", "https://obs.centre.example").host == "obs.centre.example"
    for url in ("https://obs.other.example", VENDOR):
        with pytest.raises(UserError, match=r"the keys of `\[centre\]` are not for"):
            credentials.find("centre", url)


def test_at_another_host_stored_keys_come_before_the_vendors_variables(
    keys: None, tmp_path: Path, confirmed: Callable[[str], None]
) -> None:
    (tmp_path / "credentials.toml").write_text('[centre]\naccess_key = "STORED"\nsecret_key = "S"\n')
    confirmed("obs.centre.example")
    assert credentials.find("centre", "https://obs.centre.example").access_key == "STORED"
    assert credentials.find("centre", VENDOR).access_key == "ACCESSWORD"


def _clients(host: str) -> list[Callable[[], object]]:
    """Everything that sends keys, aimed at a host."""
    from jumar.cloud.store.obs import ObsStore
    from jumar.cloud.store.s3 import S3Store

    pair = Credentials("ACCESSWORD", SECRET, host, TOKEN)
    endpoint = Endpoint(f"http://{host}", "local")

    def stored(kind: Any, call: Callable[[Any], object]) -> Callable[[], object]:
        def run() -> object:
            with contextlib.closing(kind(endpoint, pair)) as store:
                return call(store)

        return run

    calls: list[Callable[[Any], object]] = [
        lambda store: store.buckets(),
        lambda store: list(store.entries("bucket-1")),
        lambda store: store.head("bucket-1", "key"),
        lambda store: store.get("bucket-1", "key", 0, 10),
        lambda store: store.put("bucket-1", "key", b"", "d41d8cd98f00b204e9800998ecf8427e"),
    ]
    token = Credentials("", "", host, iam_token=TOKEN)
    rest: list[Callable[[], object]] = [
        lambda: Rest(f"http://{host}", "p", pair).list(),
        lambda: Rest(f"http://{host}", "p", token).list(),
        lambda: Rest(f"http://{host}", "p", token).get("1"),
        lambda: Rest(f"http://{host}", "p", token).delete("1"),
    ]
    return [*rest, *(stored(kind, call) for kind in (ObsStore, S3Store) for call in calls)]


# boto3 leaves the connection of an answer that it cannot use to the collector, which runs before the test ends.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_answer_sends_keys_to_another_host(right: Heard, thief: Heard, status: int) -> None:
    pytest.importorskip("obs", reason="esdk-obs-python is the official client of OBS")
    pytest.importorskip("boto3", reason="boto3 is the official client of S3")
    for location in (f"{thief.url}/x", f"//{thief.host}/x", f"http://localhost:{thief.server.port}/x"):
        headers = {"Location": location, "x-amz-bucket-region": "evil-1", "Content-Type": "application/xml"}
        body = f"<Error><Code>TemporaryRedirect</Code><Endpoint>{thief.host}</Endpoint></Error>".encode()
        right.answer = Answer(status, headers, body)
        for call in _clients(right.host):
            right.requests.clear()
            with pytest.raises(UserError) as caught:
                call()
            assert right.requests, "the right host was asked"
            assert thief.requests == []
            assert SECRET not in str(caught.value) and TOKEN not in str(caught.value)
    gc.collect()


def test_keys_of_one_host_are_refused_by_every_client_of_another(right: Heard, thief: Heard) -> None:
    from jumar.cloud.store.obs import ObsStore
    from jumar.cloud.store.s3 import S3Store

    pair = Credentials("ACCESSWORD", SECRET, right.host)
    said = f"keys for `{right.host}` are not sent to `{thief.host}`"
    clients: list[Callable[[], object]] = [
        lambda: ObsStore(Endpoint(thief.url, "local"), pair),
        lambda: S3Store(Endpoint(thief.url, "local"), pair),
        lambda: Rest(thief.url, "p", pair),
    ]
    for client in clients:
        with pytest.raises(UserError) as caught:
            client()
        assert caught.value.message == said
    assert thief.requests == []


def test_the_users_own_file_names_other_endpoints(
    jumar: Jumar, keys: None, right: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    confirmed: Callable[[str], None],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    settings.own_file().parent.mkdir(parents=True)
    settings.own_file().write_text(f'[cloud.targets.centre]\nproject_id = "p"\nmodelarts_endpoint = "{right.url}"\n')
    assert jumar("cloud", "ls-jobs", "--target", "centre").code == 2
    assert TOKEN not in right.text
    confirmed(right.url)
    jumar("cloud", "ls-jobs", "--target", "centre")
    assert TOKEN in right.text


def test_the_helper_of_jobs_has_no_network_and_no_keys_of_its_own() -> None:
    """`jumar_cloud.py` leaves transfers to MoXing, which the platform gives its keys."""
    from jumar.migrate import copied

    text = Path(next(iter(copied.__path__)), "jumar_cloud.py").read_text(encoding="utf-8")
    names = {
        alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
    }
    assert not names & {"urllib", "http", "socket", "ssl", "requests", "obs", "boto3", "urllib3", "httpx"}
    known = [name for rows in credentials.VARIABLES.values() for row in rows for name in row]
    assert not [name for name in (*known, *credentials.TOKENS) if name in text]


def test_jobs_of_the_stand_in_inherit_no_keys(keys: None) -> None:
    from jumar.cloud.standin import node

    assert os.environ["HUAWEICLOUD_SDK_SK"] == SECRET
    inherited = node._own_environment()
    assert not {SECRET, TOKEN, "ACCESSWORD"} & set(inherited.values())
