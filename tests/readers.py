"""Every place of the sources that reads a format which can run code, grow without end or nest without end.

`FOREIGN` reads what a stranger may have written, with a test in `test_hostile_files.py` or `test_hostile_archives.py`.
`OWN` reads what Jumar itself wrote into a place of its own, or runs inside the program of the user. `CAGED` runs code
by its nature: it is refused, or belongs into the cage. `ELSEWHERE` is judged by tests of its own. A new reader without
a row fails the test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "jumar"
CALLS = {
    "torch.load", "torch.export.load", "torch.jit.load", "pickle.load", "pickle.loads", "pickle.Unpickler",
    "numpy.load", "np.load", "numpy.fromfile", "np.fromfile", "marshal.load", "marshal.loads", "shelve.open",
    "yaml.load", "yaml.load_all", "yaml.safe_load", "zipfile.ZipFile", "zipfile.is_zipfile", "tarfile.open",
    "ElementTree.parse", "ElementTree.fromstring", "ElementTree.XML", "ElementTree.iterparse", "ET.parse",
    "ET.fromstring", "minidom.parse", "minidom.parseString", "sqlite3.connect", "gzip.open", "gzip.GzipFile",
    "gzip.decompress", "bz2.BZ2File", "bz2.open", "lzma.LZMAFile", "lzma.open", "zlib.decompress",
    "zlib.decompressobj", "tomllib.load", "tomllib.loads", "json.load", "json.loads", "json.JSONDecoder",
    "csv.reader", "csv.DictReader", "importlib.util.spec_from_file_location", "shutil.unpack_archive",
    "ast.literal_eval", "Image.open", "package.open", "image_module.open",
}  # fmt: skip
METHODS = {"ParseFromString", "load_external_data_for_model", "InferenceSession", "extractall", "exec_module"}

FOREIGN = {
    "compare/store.py": {"zlib.decompressobj", "json.loads"},
    "core/read.py": {"json.loads", "zipfile.ZipFile"},
    "export/execute.py": {"InferenceSession"},
    "export/model.py": {"ParseFromString", "load_external_data_for_model"},
    "export/standin/om.py": {"zipfile.ZipFile"},
    "machine/explain/source.py": {"bz2.BZ2File", "gzip.GzipFile", "lzma.LZMAFile"},
    "machine/plan/packages.py": {"zipfile.ZipFile"},
    "migrate/embedded.py": {"json.loads"},
    "migrate/syntax/json.py": {"json.loads"},
    "perf/convolutions.py": {"ast.literal_eval"},
    "perf/readers/base.py": {"sqlite3.connect"},
    "perf/readers/events.py": {"gzip.GzipFile", "gzip.open", "json.JSONDecoder", "json.loads"},
    "perf/readers/tables.py": {"csv.DictReader"},
    "runtime/arrays.py": {"numpy.load", "torch.load", "zipfile.ZipFile", "zipfile.is_zipfile"},
    "selftest/archive.py": {"zipfile.ZipFile"},
    "cloud/standin/objects.py": {"ElementTree.fromstring"},
}
OWN = {
    "app/suite_ranks.py": "one rank of the user's tests tells us",
    "cloud/credentials.py": "the user's own file, which nobody else may write",
    "cloud/disk.py": "the stand-in's own notes",
    "cloud/parts.py": "our record of an unfinished transfer, in the cache",
    "cloud/standin/enter.py": "written by the node that starts it",
    "cloud/standin/interpreter.py": "printed by our own program, or by pip",
    "cloud/standin/jobs.py": "the stand-in's own notes",
    "cloud/standin/service.py": "the stand-in's own notes",
    "cloud/sync.py": "our manifest, in the cache",
    "cloud/uploads.py": "the stand-in's own notes",
    "compare/child.py": "a variable that the parent set",
    "core/tables.py": "tables of the package",
    "emulate/coverage.py": "tables of the package",
    "emulate/dry/loading.py": "the user's program calls torch.load itself; we only map the file",
    "emulate/glue/record.py": "the record of this user's programs, in the user's program",
    "emulate/mindspore.py": "printed by our own program",
    "emulate/mindspore_ops/bridge.py": "a text of the stand-ins, in the user's program",
    "emulate/proof/importer.py": "inside the cage",
    "emulate/proof/sides.py": "the results of the cage",
    "emulate/proof/tests.py": "inside the cage",
    "emulate/smi/machine.py": "tables of the package",
    "export/standin/bench/files.py": "raw bytes, in the user's program",
    "export/standin/description.py": "raw bytes, in the user's program",
    "export/standin/pyacl/pictures.py": "a picture by Pillow with a limit, in the user's program",
    "export/standin/stream/elements/imagedecoder.py": "a picture by Pillow with a limit, in the user's program",
    "export/standin/stream/manager.py": "a message of protobuf, in the user's program",
    "runtime/cage/__init__.py": "told by the keeper, which the caged program cannot reach",
    "runtime/cage/enter.py": "written by `jumar.runtime.cage`",
    "runtime/trust.py": "the user's own record, which nobody else may write",
    "launch/backends/elastic.py": "written by the launcher",
    "launch/backends/rank.py": "written by the launcher",
    "launch/watch.py": "printed by our engine",
    "migrate/cache.py": "findings of ours, in the cache",
    "migrate/copied/jumar_cloud.py": "its own notes, in the user's program",
    "parallel/programs/network.py": "words that we passed",
    "parallel/programs/torch_model.py": "words that we passed",
    "parallel/programs/torch_step.py": "words that we passed",
    "parallel/prove.py": "a table of MindSpore about our own program",
    "runtime/hooks/imports.py": "loads the module that the user's program imports",
    "runtime/hooks/site/sitecustomize.py": "hands on to the sitecustomize that was there, in the user's program",
    "runtime/prebuilt.py": "tables of the package",
    "runtime/triton_launches.py": "a folder that we made for the run",
    "selftest/child.py": "tensors of our own cases, weights only",
    "selftest/run.py": "our own folder",
    "tables/load.py": "tables of the package",
}
ELSEWHERE = {
    "cloud/rest.py": "answers of an endpoint that the user chose: the trust of endpoints",
    "runtime/settings.py": "`jumar.toml`: the trust of project files",
}
CAGED = {
    "export/from_torch.py": "`.pt2` is refused by app/export.py; `file.py:make_model` runs code that the user names",
    "export/standin/stream/elements/postprocess.py": "a post-processor that the user's own pipeline names",
    "parallel/programs/own_cell.py": "builds the model that the user names",
    "parallel/programs/probe.py": "builds the model that the user names",
}


def found() -> dict[str, set[str]]:
    """The calls above that stand in the sources, by file."""
    rows: dict[str, set[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        for name in _calls(ast.parse(path.read_bytes())):
            rows.setdefault(path.relative_to(SOURCES).as_posix(), set()).add(name)
    return rows


def _calls(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name in CALLS or node.attr in METHODS:
                yield name if name in CALLS else node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (name for one in node.names if (name := f"{node.module}.{one.name}") in CALLS)
