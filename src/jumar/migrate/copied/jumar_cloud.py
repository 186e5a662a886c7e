"""A training script on ModelArts, and anywhere else: data comes in once for each node, results go out.

Written by `jumar cloud adapt`; it needs nothing but Python 3.7. The script may be started in three ways:

- `--data_url=s3://… --train_url=s3://…` (first contract): data is copied to the local disk with MoXing, by one process
  of a node while the others wait; what the script writes is copied back when it ends, also after an error;
- `--data_url=/a/folder --train_url=/another` (today's contract): the platform copies, the folders are used as they are;
- without these arguments: nothing is changed.

Every process writes into a place of its own: the first one into the folder of the results, the others into `rank_1`,
`rank_2`, … below it. Variables that change how it works: `JUMAR_CLOUD_CACHE` (local folder, else `CACHE_DIR`, `/cache`
or the temporary folder), `JUMAR_CLOUD_TIMEOUT` (seconds to wait for another process, 14400), `JUMAR_DEVICE_TARGET`.
"""

import atexit
import contextlib
import functools
import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

DATA_FLAG = re.compile(
    r"(local_)?((train|val|valid|eval|test|raw|img|image)_)*(data|dataset|datasets|mindrecord|mind_record|images?|imgs?"
    r"|coco|voc|imagenet|mnist|cifar|cifar10|content|style|labels?|masks?|gt|annotations?|anno)"
    r"_?(path|dir|root|folder|home|file)|(path|dir)_(to_)?(data|dataset)"
    r"|(train|val|valid|eval|test)_(path|file|folder|root_dir|root)"
    r"|(?!\w*(save|out|log|result|ckpt|checkpoint|model|export|pred|summary|weight|config|cfg))"
    r"(train|val|valid|eval|test)_\w+_(path|dir|root|folder|file)|data_?root|dataroot|datadir|path_dataset"
    r"|(?!\w*(save|out|log|result|ckpt|checkpoint|model|export|pred|summary))(\w+_)?(data|dataset|mindrecord)_(\w+_)?"
    r"(path|dir|root|folder|file)"
)
RESULT_FLAG = re.compile(
    r"(train_|model_|local_)?(save|saved|output|outputs|out|result|results|log|logs|summary|export|snapshot|work|run|tb"
    r"|save_ckpt|save_checkpoint|ckpt_save|checkpoint_save|save_model|model_save)_?(path|dir|folder|root|dirs)|outf|outdir"
)
START_FLAG = re.compile(
    r"pre_?train(ed)?(_?(path|ckpt|ckpt_path|checkpoint|checkpoint_path|model|model_path|file|weights?))?"
    r"|resume(_?(path|ckpt|from|checkpoint|file))?|(load|init|pre)_(ckpt|checkpoint|model)(_?(path|file|dir))?|load_path"
    r"|(ckpt|checkpoint)_file|(ckpt|checkpoint)_pre_trained|(backbone|vgg|resnet)\d*_(ckpt|pretrain|pretrained|path)|(ckpt|checkpoint)_(backbone|vgg|resnet)\d*"
)
CONFIG_FLAG = re.compile(r"(config|cfg|conf|yaml|hyp)(_?(path|file|yaml|name))?|(bert|model)_config(_path|_file)?")
PATH_FLAG = re.compile(r"(path|dir|file|folder|root)$")
DEVICE_FLAG = {
    "device_id": "id", "device_num": "count", "rank_size": "count", "group_size": "count", "rank_id": "rank",
    "run_distribute": "many", "run_distributed": "many", "distribute": "many", "is_distributed": "many",
    "is_distribute": "many", "distributed": "many", "device_target": "target", "run_platform": "target",
}  # fmt: skip
OWN_FOLDERS = {"__pycache__", "kernel_meta", "somas_meta", "ascend_log"}
WALKED = 50000
GRACE = 60.0
TRIES = 3
_STARTED = time.time()
_HERE = os.getcwd()
_ME = os.getpid()


class CloudError(RuntimeError):
    """Data could not be fetched, or results could not be sent."""


class _Run:
    """What this process knows about its job."""

    def __init__(self):
        self.parsers = []
        self.given = {}
        self.fetched = {}
        self.data = None
        self.results = None
        self.remote = None
        self.sent = None
        self.argv_read = False
        self.warns = False
        self.relaxed = set()
        self.added = set()


_run = _Run()


def add_arguments(parser, data=(), results=(), start=(), config=(), devices=None, by_name=False, words=()):
    """Add `--data_url` and `--train_url` to a parser that has none; says what its own options are.

    `data`, `results`, `start` (files to begin from, such as a checkpoint) and `config` name options that hold paths;
    `devices` names options that tell about devices. With `by_name` options that are not named here are judged by their
    names when the script runs, except `words`: those only look like paths.
    """
    known = getattr(parser, "_option_string_actions", {})
    for name, text in (("data_url", "where the data is"), ("train_url", "where the results go")):
        own = [action for action in parser._actions if action.dest == name and action.option_strings]
        if "--" + name in known:
            continue
        if own:  # `--data-url`: the platform knows the other spelling only
            own[0].option_strings.append("--" + name)
            known["--" + name] = own[0]
        elif not any(action.dest == name for action in parser._actions):
            parser.add_argument("--" + name, default=None, help=text + ": an OBS address or a folder")
            _run.added.add(name)
    kinds = {"data": tuple(data), "results": tuple(results), "start": tuple(start), "config": tuple(config)}
    for action in parser._actions:
        asked = {"data": "--data_url", "results": "--train_url"}
        if action.required and any(action.dest in kinds[kind] and _has_word(asked[kind]) for kind in asked):
            action.required = False
            _run.relaxed.add(action.dest)
            if not action.option_strings and action.nargs is None:
                action.nargs = "?"
    _run.parsers = [one for one in _run.parsers if one[0] is not parser]
    _run.parsers.append((parser, kinds, dict(devices or {}), set(words) if by_name else None))
    return parser


def stage(args, unknown_ok=False):
    """Make every path in the parsed arguments a local one; takes what `parse_args` or `parse_known_args` gave."""
    namespace, rest = args if isinstance(args, tuple) else (args, [])
    parser, kinds, devices, words = _run.parsers[-1] if _run.parsers else (None, {}, {}, set())
    values = vars(namespace)
    given = {name: values.get(name) for name in ("data_url", "train_url") if _is_given(parser, name, values.get(name))}
    if rest and not unknown_ok:
        if parser is not None and not given and not in_job():
            parser.error("unrecognized arguments: " + " ".join(rest))
        _say("arguments that this script does not know: " + " ".join(rest))
    if words is not None:
        kinds, devices = _by_name(values, kinds, words)
    _open(given.get("data_url"), given.get("train_url"))
    for name, place in (("data_url", _run.data), ("train_url", _run.results)):
        if name in given:
            setattr(namespace, name, _like(given[name], place))
        elif name in _run.added and hasattr(namespace, name):
            delattr(namespace, name)  # what the script prints stays as it was
    for kind, names in kinds.items():
        for name in names:
            if kind == "data" and name in values and values[name] in (None, "") and _run.data is not None:
                part = _part_of_data(name)
                if part is not None:
                    setattr(namespace, name, _only_file(part) if name.endswith("file") else part)
            elif name in _run.relaxed and values.get(name) is None and _run.results is not None:
                setattr(namespace, name, _run.results)
            elif values.get(name) and name not in given:
                explicit = _is_given(parser, name, values[name])
                resolve = functools.partial(_resolved, kind, name, explicit=explicit)
                setattr(namespace, name, _each(values[name], resolve))
    if in_job() or given:
        _set_devices(namespace, parser, devices)
        known = set(given).union(*kinds.values())
        for name, value in list(values.items()):
            if isinstance(value, dict):
                _in_settings(value)
            elif name not in known and value and PATH_FLAG.search(name.lower()):
                setattr(namespace, name, _each(value, _shipped))
    return args


def read_path(path):
    """Where a file or folder to read is: in the fetched data, among the results, beside the script, or as it says."""
    _read_argv()
    if not isinstance(path, (str, os.PathLike)) or not _is_active():
        return path
    text = os.fspath(path)
    if _is_remote(text):
        return fetch(text)
    if _run.results is not None and os.path.exists(_in_results(text)):
        return _like(path, _in_results(text))
    if _run.data is not None:
        found = _tail(_run.data, text)
        if found is not None:
            return _like(path, found)
    if os.path.exists(text):
        return path
    beside = _beside(text)
    if beside is not None:
        return _like(path, beside)
    return path if _run.data is None else _like(path, _located(_run.data, text))


def write_path(path):
    """Where to write: below the folder of the results if there is one, else as it says."""
    _read_argv()
    if _run.results is None:
        return path
    if path is None or path == "":
        return _run.results
    if not isinstance(path, (str, os.PathLike)):
        return path
    text = os.fspath(path)
    new = _in_results(text)
    _make_folder(os.path.dirname(new.rstrip("/")))
    if not os.path.isabs(text):
        # A write that `jumar cloud adapt` could not follow finds its folder, and is named at the end.
        with contextlib.suppress(OSError):
            _make_folder(os.path.dirname(text) if _has_suffix(text) else text)
    return _like(path, new)


def upload():
    """Copy the results to where they belong; the platform does it itself when the place is a folder."""
    if _run.remote is None or os.getpid() != _ME:
        return
    files = _listing(_run.results)
    if not files or files == _run.sent:
        return
    target = _run.remote.rstrip("/") + ("/" if rank() == 0 else f"/rank_{rank()}/")
    _say(f"copies {len(files)} files to {target}")
    _retry("results could not be copied to " + target, lambda: _moxing().file.copy_parallel(_run.results, target))
    _run.sent = files


def rank():
    return _number("RANK_ID", "RANK", default=0)


def device_count():
    """How many devices work on this job, one process each."""
    return _number("RANK_SIZE", "WORLD_SIZE", default=1)


def num_shards(training=True):
    """For a MindSpore dataset: the number of its parts; None for one device and for data that is not trained on."""
    return device_count() if training and device_count() > 1 else None


def shard_id(training=True):
    return rank() if training and device_count() > 1 else None


def sampler(dataset, shuffle=False):
    """For a PyTorch loader: the sampler that gives each process of a job its part; None for one device."""
    if not in_job() or device_count() == 1:
        return None
    torch = importlib.import_module("torch.utils.data.distributed")
    return torch.DistributedSampler(dataset, num_replicas=device_count(), rank=rank(), shuffle=bool(shuffle))


def shuffle(wanted):
    """For a PyTorch loader with that sampler: the sampler shuffles, where there is one."""
    return False if in_job() and device_count() > 1 else wanted


def device_target(name):
    """The MindSpore device to use: what the script says, in a job the one that the platform has."""
    wanted = os.environ.get("JUMAR_DEVICE_TARGET")
    if wanted:
        return wanted
    on_ascend = any(os.environ.get(key) for key in ("ASCEND_DEVICE_ID", "RANK_TABLE_FILE", "DEVICE_ID"))
    return "Ascend" if in_job() and on_ascend else name


def device_id(number):
    """The device of this process: what the script says, in a job the one that the platform gives."""
    given = _number("DEVICE_ID", "ASCEND_DEVICE_ID")
    return given if given is not None and (in_job() or device_count() > 1) else number


def in_job():
    """Does this run inside a ModelArts training job?"""
    return any(os.environ.get(key) for key in ("MA_JOB_DIR", "MA_HOME", "MA_MOUNT_PATH", "DLS_JOB_ID", "BATCH_JOB_ID"))


def fetch(url, is_file=False):
    """The local copy of an address, made once for each node; a local path is given back as it is."""
    if not _is_remote(url):
        return url[len("file://") :] if url.startswith("file://") else url
    key = (url, is_file)
    if key not in _run.fetched:
        name = re.sub(r"[^\w.-]", "_", url.rstrip("/").rsplit("/", 1)[-1]) or "data"
        folder = os.path.join(_cache(), "in")
        _make_folder(folder)
        place = os.path.join(folder, "{}-{}".format(name, hashlib.sha1(url.encode("utf-8")).hexdigest()[:10]))
        _once(place, url, is_file)
        _run.fetched[key] = os.path.join(place, name) if is_file else place
    return _run.fetched[key]


# -- how arguments become local paths


def _open(data_url, train_url):
    if data_url:
        _run.data = fetch(os.fspath(data_url))
    if train_url:
        url = os.fspath(train_url)
        own = "" if rank() == 0 else f"rank_{rank()}"
        if _is_remote(url):
            _run.results = os.path.join(_cache(), "out", f"rank_{rank()}")
            _run.remote = url
            _watch()
        else:
            root = url[len("file://") :] if url.startswith("file://") else url
            _run.results = os.path.abspath(os.path.join(root, own)) if own else os.path.abspath(root)
        _make_folder(_run.results)
        if not _run.warns:
            _run.warns = True
            _at_end(_warn)


def _read_argv():
    """For a script without a parser of its own: take the two arguments from the command line."""
    if _run.argv_read or _run.parsers:
        return
    _run.argv_read = True
    found = {}
    for at, word in enumerate(sys.argv):
        for name in ("data_url", "train_url"):
            if word.startswith("--" + name + "="):
                found[name] = word.split("=", 1)[1]
            elif word == "--" + name and at + 1 < len(sys.argv):
                found[name] = sys.argv[at + 1]
    _open(found.get("data_url"), found.get("train_url"))


def _resolved(kind, name, value, explicit):
    text = os.fspath(value)
    if kind == "results":
        if _run.results is None:
            return value
        new = _in_results(text)
        is_folder = text.endswith("/") or os.path.isdir(text) or re.search("dir|folder", name) or not _has_suffix(text)
        _make_folder(new if is_folder else os.path.dirname(new))
        return _like(value, new)
    if _is_remote(text):
        return fetch(text, is_file=kind != "data" and _has_suffix(text))
    if kind == "data":
        if _run.data is None or (explicit and os.path.exists(text)):
            return value
        beside = _beside(text) if _has_suffix(text) and _tail(_run.data, text) is None else None
        return _like(value, beside or _located(_run.data, text))
    if kind == "start":
        if os.path.isdir(text):
            return _like(value, _only_file(text))
        if os.path.exists(text) or not _is_active():
            return value
        found = _tail(_run.data, text) if _run.data is not None else None
        return _like(value, found or _beside(text) or text)
    if os.path.exists(text) or not (_is_active() or in_job()):
        return value
    return _like(value, _beside(text) or text)


def _part_of_data(name):
    """What an option without a value means: the folder of the data that its name begins with, for others all of it."""
    word = re.match("(train|val|valid|eval|test)_", name.lower())
    inner = os.path.join(_run.data, word.group(1)) if word else ""
    if word and os.path.isdir(inner):
        return inner
    return None if word and word.group(1) != "train" else _run.data


def _shipped(value):
    """A path of an option that nothing else is known about: a job starts elsewhere than beside its script."""
    text = os.fspath(value)
    if os.path.exists(text) or (os.path.isabs(text) and not _has_suffix(text)):
        return value
    in_data = _tail(_run.data, text) if _run.data is not None else None
    return _like(value, _beside(text) or in_data or text)


def _in_settings(table):
    """Paths inside a table of a file with options: only those that are there below the data or beside the script."""
    for key, value in table.items():
        if isinstance(value, dict):
            _in_settings(value)
        elif isinstance(value, str) and "/" in value and not RESULT_FLAG.fullmatch(str(key).lower()):
            table[key] = _shipped(value)


def _set_devices(namespace, parser, devices):
    values = {
        "id": _number("DEVICE_ID", "ASCEND_DEVICE_ID", "LOCAL_RANK"),
        "rank": _number("RANK_ID", "RANK"),
        "count": _number("RANK_SIZE", "WORLD_SIZE"),
        "many": True if device_count() > 1 else None,
        "job": True,
    }
    for name, meaning in devices.items():
        old = getattr(namespace, name, None)
        if not hasattr(namespace, name) or (parser is not None and _on_command_line(parser, name)):
            continue
        new = device_target(old) if meaning == "target" else values[meaning]
        if new is None:
            continue
        if isinstance(old, str):
            new = str(new)
        elif isinstance(old, int) and not isinstance(old, bool):
            new = int(new)
        setattr(namespace, name, new)


def _by_name(values, told=None, words=()):
    """What options hold, by what the program says about them, then by their names."""
    kinds = {"data": [], "results": [], "start": [], "config": []}
    patterns = (("config", CONFIG_FLAG), ("start", START_FLAG), ("results", RESULT_FLAG), ("data", DATA_FLAG))
    known = {name: kind for kind, names in (told or {}).items() for name in names}
    for name, value in values.items():
        if isinstance(value, (str, os.PathLike, list, tuple)) and name not in words:
            kind = next((kind for kind, pattern in patterns if pattern.fullmatch(name.lower())), None)
            kind = known.get(name, kind)
            if kind is not None:
                kinds[kind].append(name)
    return kinds, {name: meaning for name, meaning in DEVICE_FLAG.items() if name in values}


def _is_given(parser, name, value):
    """Was this argument given, or does its default already point into the cloud?"""
    if not value or not isinstance(value, (str, os.PathLike)):
        return False
    if _is_remote(os.fspath(value)):
        return True
    return value != parser.get_default(name) if parser is not None else True


def _on_command_line(parser, name):
    options = [word for action in parser._actions if action.dest == name for word in action.option_strings]
    return any(_has_word(option) for option in options)


def _has_word(option):
    return any(word.split("=", 1)[0] == option for word in sys.argv[1:])


def _each(value, function):
    if isinstance(value, (list, tuple)):
        return type(value)([_each(one, function) for one in value])
    return function(value) if isinstance(value, (str, os.PathLike)) else value


def _like(path, new):
    """`new` as the same type as `path`, with its slash at the end."""
    if isinstance(path, str):
        return new + "/" if path.endswith("/") and not new.endswith("/") else new
    return type(path)(new)


def _parts(text):
    path = text.replace("\\", "/")
    for prefix in ("/cache/", "/tmp/"):
        if path.startswith(prefix):
            path = path[len(prefix) :]
    return [part for part in path.split("/") if part not in ("", ".", "..", "~")]


def _in_results(text):
    """The same path below the folder of the results; one that is there already stays."""
    root = _run.results
    if os.path.isabs(text):
        if text == root or text.startswith(root.rstrip("/") + "/"):
            return text
        here = os.getcwd().rstrip("/") + "/"
        text = text[len(here) :] if text.startswith(here) else text
    new = os.path.join(root, *_parts(text))
    return new + "/" if text.endswith("/") else new


def _tail(root, text):
    """The longest end of a path that exists below a folder."""
    parts = _parts(text)
    for at in range(len(parts)):
        found = os.path.join(root, *parts[at:])
        if os.path.exists(found):
            return found
    return None


def _located(root, text):
    found = _tail(root, text)
    if found is None:
        found = os.path.join(root, os.path.basename(text)) if _has_suffix(text) else root
    return found


def _beside(text):
    """A path of the code folder, when it is not there as seen from the working folder."""
    if os.path.isabs(text):
        return None
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    for folder in (
        os.path.dirname(os.path.abspath(main)) if main else None,
        os.path.dirname(os.path.abspath(__file__)),
    ):
        if folder and os.path.exists(os.path.join(folder, text)):
            return os.path.join(folder, text)
    return None


def _only_file(folder):
    """The file in a folder that holds just one: inputs of a job are folders."""
    names = [name for name in os.listdir(folder) if not name.startswith(".")]
    whole = os.path.join(folder, names[0]) if len(names) == 1 else ""
    return whole if os.path.isfile(whole) else folder


def _has_suffix(text):
    return re.search(r"\.[A-Za-z]\w{0,10}$", text.rstrip("/")) is not None


def _is_remote(text):
    return isinstance(text, str) and text.startswith(("s3://", "obs://"))


def _is_active():
    return _run.data is not None or _run.results is not None


def _number(*names, **options):
    for name in names:
        text = os.environ.get(name, "").strip()
        if text.isdigit():
            return int(text)
    return options.get("default")


def _say(text):
    sys.stderr.write(f"jumar_cloud: rank {rank()}: {text}\n")
    sys.stderr.flush()


def _make_folder(path):
    if path:
        os.makedirs(path, exist_ok=True)


# -- one download for each node


def _cache():
    """The folder of this job on the local disk, the same for all its processes."""
    base = os.environ.get("JUMAR_CLOUD_CACHE") or os.environ.get("CACHE_DIR")
    if not base:
        base = "/cache" if os.path.isdir("/cache") and os.access("/cache", os.W_OK) else tempfile.gettempdir()
    job = [os.environ.get(key, "") for key in ("JOB_ID", "MA_VJ_NAME", "BATCH_JOB_ID", "SLURM_JOB_ID")]
    own = re.compile(r"--?(local[_-]rank|device_id|rank|rank_id)(=.*)?")
    words = [
        word
        for before, word in zip(sys.argv, sys.argv[1:])
        if not own.fullmatch(word) and not (own.fullmatch(before) and "=" not in before)
    ]
    same = [job, os.path.abspath(sys.argv[0] or "."), words]
    if not any(job):
        parent = os.getppid() if hasattr(os, "getppid") and device_count() > 1 else os.getpid()
        same.append(f"{parent}-{_birth(parent)}")
    text = json.dumps(same).encode("utf-8")
    user = os.getuid() if hasattr(os, "getuid") else 0
    top = os.path.join(base, f"jumar_cloud_{user}")
    os.makedirs(top, mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and os.stat(top).st_uid != user:  # in /tmp anybody can take the name
        raise CloudError(f"{top} belongs to another user; JUMAR_CLOUD_CACHE names another folder")
    return os.path.join(top, hashlib.sha1(text).hexdigest()[:12])


def _once(place, url, is_file):
    """Have the copy made by one process: whoever gets the lock first makes it, the others find it done."""
    with _lock(place):
        if _is_done(place):
            return
        reason = _failure(place)
        if reason:
            raise CloudError(f"{url} could not be fetched, another process says: {reason}")
        part = place + ".part"
        for old in (part, place):
            shutil.rmtree(old, ignore_errors=True)
        _say(f"fetches {url}")
        try:
            _retry(f"{url} could not be fetched", lambda: _download(url, part, is_file))
        except CloudError as error:
            shutil.rmtree(part, ignore_errors=True)
            _write(place + ".failed", {"reason": str(error), "pid": os.getpid()})
            raise
        os.rename(part, place)
        _write(place + ".done", {"pid": os.getpid(), "birth": _birth(os.getpid()), "url": url})


def _download(url, part, is_file):
    shutil.rmtree(part, ignore_errors=True)
    _make_folder(part)
    mox = _moxing().file
    is_folder = getattr(mox, "is_directory", None)
    if is_file or (is_folder is not None and not url.endswith("/") and not is_folder(url)):
        mox.copy(url, os.path.join(part, url.rstrip("/").rsplit("/", 1)[-1]))
    else:
        mox.copy_parallel(url, part)
    if not os.listdir(part):
        raise CloudError("nothing is there")


def _retry(what, function):
    for attempt in range(TRIES):
        try:
            return function()
        except _NotHere as error:
            raise CloudError(f"{what}: {error}") from error
        except Exception as error:
            if attempt + 1 == TRIES:
                raise CloudError(f"{what}: {type(error).__name__}: {error}") from error
            _say(f"{what}: {error}; tries again")
            time.sleep(float(os.environ.get("JUMAR_CLOUD_PAUSE", 2)) * (attempt + 1))
    raise AssertionError("the last attempt returns or raises")


def _is_done(place):
    """Is the copy complete and of this run? Its maker still works, or has ended a moment ago."""
    said = _read(place + ".done")
    if said is None or not os.path.isdir(place):
        return False
    alive = _birth(said.get("pid", -1)) == said.get("birth")
    return alive or time.time() - os.path.getmtime(place + ".done") < GRACE


def _failure(place):
    """Why another process of this run failed to make the copy; an older failure does not count."""
    said = _read(place + ".failed")
    if said is None or said.get("pid") == os.getpid() or os.path.getmtime(place + ".failed") < _STARTED - 1:
        return None
    return said.get("reason")


@contextlib.contextmanager
def _lock(place):
    """Only one process at a time; the lock of a process that dies is free again at once."""
    if fcntl is None:
        yield
        return
    limit = float(os.environ.get("JUMAR_CLOUD_TIMEOUT", 14400))
    end = time.time() + limit
    with open(place + ".lock", "a+") as file:
        waits = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                owner = (_read(place + ".owner") or {}).get("pid", "?")
                if time.time() > end:
                    text = "waited {:.0f} s for process {} to fetch the data; JUMAR_CLOUD_TIMEOUT is the limit"
                    raise CloudError(text.format(limit, owner)) from None
                if not waits:
                    _say(f"waits for process {owner}")
                waits = True
                time.sleep(0.1)
        _write(place + ".owner", {"pid": os.getpid()})
        yield


def _birth(pid):
    """When a process was started, in ticks; a number that is used again has another birth. None: no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def _write(path, value):
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w") as file:
        json.dump(value, file)
    os.replace(fresh, path)


def _read(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


# -- results


def _watch():
    """Send the results at the end however the script ends; the platform stops a job with SIGTERM."""
    if _run.sent is None:
        _run.sent = ()
        _at_end(_last)
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def _at_end(function):
    """Have it called when the script ends, while pools of threads still work: MoXing copies with one."""
    importlib.import_module("concurrent.futures.thread")  # what is registered later is called earlier
    getattr(threading, "_register_atexit", atexit.register)(function)


def _last():
    try:
        upload()
    except CloudError as error:
        _say(f"error: {error}")
        sys.stdout.flush()
        os._exit(1)


def _warn():
    """Name the files that this run wrote to the working folder, where a job leaves them behind."""
    if os.getpid() != _ME:
        return
    names = _left_behind()
    if names:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        what = "1 file was" if len(names) == 1 else f"{len(names)} files were"
        _say(f"warning: {what} written outside the results and not sent: {shown}")
        _say("hint: wrap the path in the script: jumar_cloud.write_path(...)")


def _left_behind():
    """Fresh files in the working folder and beside the script, as seen from the working folder."""
    places = [place for place in (_run.results, _run.data, _cache()) if place]
    kept = tuple(os.path.realpath(place).rstrip("/") + "/" for place in places)
    found, seen = set(), 0
    for base in (_HERE, os.path.dirname(os.path.abspath(__file__))):
        for top, folders, names in os.walk(base):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in OWN_FOLDERS]
            seen += len(names)
            if seen > WALKED:
                break
            if (os.path.realpath(top) + "/").startswith(kept):
                folders[:] = []
                continue
            found.update(os.path.join(top, name) for name in names if _is_fresh(os.path.join(top, name)))
    return sorted(os.path.relpath(path, _HERE) for path in found)


def _is_fresh(path):
    if path.endswith((".pyc", ".lock")) or os.path.islink(path):
        return False
    try:
        return os.stat(path).st_mtime >= _STARTED - 0.01
    except OSError:
        return False


def _listing(folder):
    found = []
    for top, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                about = os.stat(os.path.join(top, name))
                found.append((os.path.join(top, name), about.st_size, about.st_mtime))
    return sorted(found)


# -- MoXing, and what takes its place


class _NotHere(Exception):
    """MoXing is not installed."""


def _moxing():
    """Huawei's MoXing, which only the images of the platform have."""
    try:
        import moxing as real
    except ImportError:
        raise _NotHere(
            "MoXing is not installed; it is part of ModelArts, elsewhere give a folder instead of an address"
        ) from None
    if not hasattr(getattr(real, "file", None), "copy_parallel"):
        raise _NotHere("the package `moxing` that is installed here is not Huawei's MoXing: `pip uninstall moxing`")
    return real


class _File:
    """`moxing.file` for scripts that call it themselves: addresses go to MoXing, local paths need none."""

    def copy_parallel(self, src_url, dst_url, *args, **kwargs):
        if not src_url or not dst_url:
            return
        if _is_remote(dst_url):
            _moxing().file.copy_parallel(src_url, dst_url, *args, **kwargs)
            return
        source = fetch(self._there(src_url)).rstrip("/") or "/"
        if not os.path.exists(source) and _run.results and source.startswith(_run.results):
            _say(f"nothing to copy yet: {source}")
            return
        is_input = _is_remote(src_url) or source == _run.data
        _merge(source, dst_url, _link if is_input else shutil.copyfile)

    def _there(self, url):
        """A place among the results that is not here but may be in the cloud, from an earlier run."""
        if not _run.remote or not url.startswith(_run.results + "/") or os.path.exists(url):
            return url
        far = _run.remote.rstrip("/") + url[len(_run.results) :]
        return far if self.exists(far) else url

    def copy(self, src_url, dst_url, *args, **kwargs):
        if not src_url or not dst_url:
            return
        if _is_remote(src_url) or _is_remote(dst_url):
            _moxing().file.copy(src_url, dst_url, *args, **kwargs)
            return
        _make_folder(os.path.dirname(dst_url))
        shutil.copyfile(src_url, dst_url)

    def exists(self, url):
        return _moxing().file.exists(url) if _is_remote(url) else os.path.exists(url)

    def is_directory(self, url):
        return _moxing().file.is_directory(url) if _is_remote(url) else os.path.isdir(url)

    def make_dirs(self, url):
        return _moxing().file.make_dirs(url) if _is_remote(url) else os.makedirs(url, exist_ok=True)

    def mk_dir(self, url):
        return _moxing().file.mk_dir(url) if _is_remote(url) else os.makedirs(url, exist_ok=True)

    def list_directory(self, url, *args, **kwargs):
        if _is_remote(url) or args or kwargs:
            return _moxing().file.list_directory(url, *args, **kwargs)
        return os.listdir(url)

    def shift(self, *args):
        with contextlib.suppress(_NotHere):
            _moxing().file.shift(*args)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_moxing().file, name)


class _Moxing:
    def __init__(self):
        self.file = _File()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_moxing(), name)


moxing = _Moxing()
file = moxing.file


def _merge(source, target, put):
    """The contents of a folder into another one; eight processes may do this at the same time."""
    if os.path.realpath(source) == os.path.realpath(target):
        return
    if not os.path.isdir(source):
        _make_folder(os.path.dirname(target))
        put(source, target)
        return
    _make_folder(target)
    for name in os.listdir(source):
        old, new = os.path.join(source, name), os.path.join(target, name)
        if os.path.isdir(old) and (put is not _link or (os.path.isdir(new) and not os.path.islink(new))):
            _merge(old, new, put)
        else:
            put(old, new)


def _link(source, target):
    """A link instead of a second copy of the data."""
    whole = os.path.abspath(source)
    try:
        if os.path.islink(target) and os.readlink(target) == whole:
            return
        if os.path.islink(target) or not os.path.exists(target):
            fresh = f"{target}.{os.getpid()}"
            os.symlink(whole, fresh)
            os.replace(fresh, target)
            return
        shutil.copyfile(source, target)
    except OSError:
        if os.path.isdir(source):
            _merge(source, target, shutil.copyfile)
        else:
            shutil.copyfile(source, target)


def _fill_environment():
    """The names that scripts read and the platform does not set, from those that it sets."""
    size, first = os.environ.get("RANK_SIZE"), os.environ.get("VC_WORKER_HOSTS", "127.0.0.1").split(",")[0]
    if not size:
        return
    known = os.environ
    known.setdefault("DEVICE_NUM", size)
    if "RANK_ID" in known and "RANK" not in known and "WORLD_SIZE" not in known:
        known["RANK"], known["WORLD_SIZE"] = known["RANK_ID"], size
        known.setdefault("LOCAL_RANK", known.get("DEVICE_ID", known["RANK_ID"]))
        known.setdefault("MASTER_ADDR", first)
        known.setdefault("MASTER_PORT", "29500")


_fill_environment()
