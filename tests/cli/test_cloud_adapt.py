"""`jumar cloud adapt`: scripts of different shapes run under both contracts and as before without them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jumar.cli.main import main

sys.path.insert(0, str(Path(__file__).parents[1] / "migrate"))
from cloud_jobs import Platform

V1 = ("--data_url=s3://b/mnist/", "--train_url=s3://b/out/")
BODY = """
from mindspore import context
import mindspore.dataset as ds
from mindspore.train.callback import Model, ModelCheckpoint, CheckpointConfig
"""
MAIN_BLOCK = f"""
import argparse
{BODY}
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_path", default="data/train")
    parser.add_argument("--save_dir", default="ckpt")
    args = parser.parse_args()
    context.set_context(mode=context.GRAPH_MODE, device_target="CPU")
    train = ds.MnistDataset(args.data_path)
    Model().train(1, train, [ModelCheckpoint("net", args.save_dir, CheckpointConfig())])
"""
FUNCTIONS = f"""
import argparse
import os
{BODY}
def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data")
    return parser.parse_args()


def create(folder, training):
    return ds.MnistDataset(os.path.join(folder, "train"))


def main(args):
    context.set_context(mode=context.GRAPH_MODE)
    Model().train(1, create(args.root, True), [ModelCheckpoint(prefix="net")])


if __name__ == "__main__":
    main(get_args())
"""
NO_COMMAND_LINE = f"""
{BODY}
data_path = "data/train"
context.set_context(mode=context.GRAPH_MODE)
train = ds.MnistDataset(data_path)
Model().train(1, train, [ModelCheckpoint("net", "ckpt")])
"""
GUIDE = f"""
import argparse
import os
{BODY}
device_num = int(os.getenv("RANK_SIZE", "1"))
device_id = int(os.getenv("DEVICE_ID", "0"))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_url", default="data")
    parser.add_argument("--train_url", default=None)
    args_opt, unknown = parser.parse_known_args()
    local = "data"
    if args_opt.train_url:
        import moxing as mox
        local = os.path.join("cache", str(device_id))
        mox.file.copy_parallel(src_url=args_opt.data_url, dst_url=local)
    if device_num > 1:
        context.set_auto_parallel_context(device_num=device_num, gradients_mean=True)
        train = ds.MnistDataset(local + "/train", num_shards=device_num, shard_id=device_id)
    else:
        train = ds.MnistDataset(local + "/train")
    Model().train(1, train, [ModelCheckpoint("net", "ckpt")])
"""
OTHER_FILE = f"""
{BODY}
from config import config

if __name__ == "__main__":
    train = ds.MnistDataset(config.data_path)
    Model().train(1, train, [ModelCheckpoint("net", config.output_path + "/ckpt")])
"""
CONFIG = """
import argparse

def get_config():
    parser = argparse.ArgumentParser()
    for key, value in {"data_path": "data/train", "output_path": "."}.items():
        parser.add_argument("--" + key, default=value)
    return parser.parse_args()

config = get_config()
"""
DASHES = f"""
import argparse
{BODY}
from data import create_dataset

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-url", default="data")
    parser.add_argument("--train-url", default="ckpt/")
    args = parser.parse_args()
    context.set_context(mode=context.GRAPH_MODE)
    Model().train(1, create_dataset(args.data_url + "/train"), [ModelCheckpoint("net", args.train_url + "nets")])
"""
DATA = """
import mindspore.dataset as ds

def create_dataset(path):
    return ds.MnistDataset(path)
"""
LOOKS_FIRST = f"""
import argparse
{BODY}
def read_settings(path):
    with open(path) as file:
        return dict(line.split() for line in file)


def get_args():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--config_path", default="settings.txt")
    found, _ = parser.parse_known_args()
    parser = argparse.ArgumentParser(parents=[parser])
    for key, value in read_settings(found.config_path).items():
        parser.add_argument("--" + key, default=value)
    parser.set_defaults(nested={{"train_set": "./mnist/one.ckpt", "rate": "1/2"}})
    return parser.parse_args()


if __name__ == "__main__":
    args = get_args()
    print(args)
"""
SHAPES = {
    "main-block": MAIN_BLOCK,
    "functions": FUNCTIONS,
    "plain": NO_COMMAND_LINE,
    "guide": GUIDE,
    "file": OTHER_FILE,
    "dashes": DASHES,
}


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    found = Platform(tmp_path)
    (found.code / "jumar_cloud.py").unlink()
    (found.code / "config.py").write_text(CONFIG)
    (found.code / "data.py").write_text(DATA)
    monkeypatch.chdir(found.code)
    return found


def _adapt(platform: Platform, text: str) -> None:
    script = platform.code / "train.py"
    script.write_text(text)
    assert main(["cloud", "adapt", str(script), "--write", "-q"]) in (0, 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 4])
def test_addresses(platform: Platform, shape: str, size: int) -> None:
    _adapt(platform, SHAPES[shape])
    said = platform.run("train.py", *V1, size=size)
    assert all(code == 0 for code, _, _ in said), said
    for rank, (_, out, _) in enumerate(said):
        reads = next(line.split() for line in out.splitlines() if line.startswith("READS"))
        assert str(platform.top / "cache") in reads[1] and reads[2] == "images"
        if shape != "file":
            assert reads[3:] == (["None", "None"] if size == 1 else [str(size), str(rank)])
            assert ("gradients_mean" in out) is (size > 1)
    assert sum(line.startswith("s3://b/mnist") for line in platform.transfers()) == 1
    sent = platform.bucket()
    assert len(sent) == size and all(name.endswith("net.ckpt") for name in sent)


@pytest.mark.parametrize("shape", SHAPES)
def test_folders_of_the_platform(platform: Platform, tmp_path: Path, shape: str) -> None:
    _adapt(platform, SHAPES[shape])
    (platform.top / "packages" / "moxing.py").unlink()
    data, out = platform.buckets / "b" / "mnist", tmp_path / "outputs" / "train_url_0"
    said = platform.run("train.py", f"--data_url={data}", f"--train_url={out}/", size=2)
    assert all(code == 0 and f"READS {data}/train images" in text for code, text, _ in said), said
    assert len(list(out.rglob("net.ckpt"))) == 2


@pytest.mark.parametrize("shape", SHAPES)
def test_without_arguments_the_script_behaves_as_before(platform: Platform, shape: str) -> None:
    work = platform.top / "device0"
    (work / "data" / "train").mkdir(parents=True)
    (work / "data" / "train" / "local").write_text("")
    script = platform.code / "train.py"
    script.write_text(SHAPES[shape])
    before = platform.run("train.py")
    made = sorted(work.rglob("net.ckpt"))
    _adapt(platform, SHAPES[shape])
    for path in made:
        path.unlink()
    assert platform.run("train.py") == before
    assert sorted(work.rglob("net.ckpt")) == made and made and platform.transfers() == []


def test_the_file_that_holds_the_options_is_found_beside_the_script(platform: Platform) -> None:
    settings = platform.code / "settings.txt"
    settings.write_text("data_path data/train\nvocab_path data/one.ckpt\ntrain_dataset_list_file x/one.ckpt\n")
    _adapt(platform, LOOKS_FIRST)
    data = platform.buckets / "b" / "mnist"
    ((code, out, err),) = platform.run("train.py", f"--data_url={data}", MA_HOME="/x")
    assert code == 0, err
    assert f"data_path='{data}/train'" in out
    assert f"vocab_path='{data}/one.ckpt', train_dataset_list_file='{data}/one.ckpt'" in out
    assert f"nested={{'train_set': '{data}/one.ckpt', 'rate': '1/2'}}" in out.replace('"', "'")
    (platform.top / "device0" / "settings.txt").write_text("data_path here\n")
    ((code, out, err),) = platform.run("train.py")
    nested = "{'train_set': './mnist/one.ckpt', 'rate': '1/2'}"
    assert (code, out, err) == (0, f"Namespace(config_path='settings.txt', data_path='here', nested={nested})\n", "")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_second_time_changes_nothing(platform: Platform, shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    _adapt(platform, SHAPES[shape])
    before = {path: path.read_bytes() for path in platform.code.iterdir() if path.is_file()}
    capsys.readouterr()
    assert main(["cloud", "adapt", str(platform.code / "train.py"), "--write"]) == 0
    assert "already adapted: nothing to change" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in platform.code.iterdir() if path.is_file()} == before


def test_nothing_is_written_without_being_asked(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    (platform.code / "train.py").write_text(MAIN_BLOCK)
    assert main(["cloud", "adapt", "train.py"]) == 1
    said = capsys.readouterr()
    assert "+    jumar_cloud.add_arguments" in said.out.replace("        ", "    ")
    assert "MA101 note the script takes `--data_url` and `--train_url`" in said.out
    assert "new file: `jumar_cloud.py`" in said.out and "1 file would change" in said.err
    assert (platform.code / "train.py").read_text() == MAIN_BLOCK and not (platform.code / "jumar_cloud.py").exists()
    assert main(["cloud", "adapt", "train.py", "--check", "-q"]) == 1


def test_a_copy_leaves_the_original_alone(platform: Platform) -> None:
    (platform.code / "train.py").write_text(MAIN_BLOCK)
    assert main(["cloud", "adapt", "train.py", "-o", "../one/train_cloud.py", "-q"]) == 0
    assert {path.name for path in (platform.top / "one").iterdir()} == {"train_cloud.py", "jumar_cloud.py"}
    assert main(["cloud", "adapt", "train.py", "-o", "../all", "-q"]) == 0
    assert {path.name for path in (platform.top / "all").iterdir()} == {
        "train.py",
        "config.py",
        "data.py",
        "jumar_cloud.py",
    }
    assert (platform.code / "train.py").read_text() == MAIN_BLOCK


def test_one_file_is_not_enough_for_a_program_of_two(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    (platform.code / "train.py").write_text(OTHER_FILE)
    assert main(["cloud", "adapt", "train.py", "-o", "../one.py"]) == 2
    assert "`config.py` changes too, so one file is not enough" in capsys.readouterr().err
    assert not (platform.top / "one.py").exists()


def test_json_lists_the_findings(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    (platform.code / "train.py").write_text(MAIN_BLOCK)
    assert main(["cloud", "adapt", "train.py", "--json"]) == 1
    assert '"MA101"' in json.dumps(json.loads(capsys.readouterr().out))


def test_rules_can_be_left_out(platform: Platform) -> None:
    (platform.code / "train.py").write_text(MAIN_BLOCK)
    main(["cloud", "adapt", "train.py", "--skip", "MA106", "--skip", "fixed-device", "--write", "-q"])
    text = (platform.code / "train.py").read_text()
    assert "upload" not in text and 'device_target="CPU"' in text and "add_arguments" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["empty.py"], "nothing to adapt in `empty.py`"),
        (["trian.py"], "no such file: `trian.py`"),
        (["."], "`.` is a folder"),
        (["notes.txt"], "`notes.txt` is not a Python file"),
        (["broken.py"], "this is not Python 3"),
        (["train.py", "--write", "--check"], "`--write` and `--check` cannot go together"),
        (["train.py", "--skip", "MA999"], "no such rule: `MA999`"),
    ],
)
def test_mistakes_are_told(
    platform: Platform, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    (platform.code / "train.py").write_text(MAIN_BLOCK)
    (platform.code / "empty.py").write_text("print(1)\n")
    (platform.code / "broken.py").write_text("print parser.parse_args()\n")
    (platform.code / "notes.txt").write_text("x")
    before = sorted(platform.code.iterdir())
    assert main(["cloud", "adapt", *args]) == 2
    said = capsys.readouterr().err
    assert message in said and "hint:" in said and "Traceback" not in said
    assert sorted(platform.code.iterdir()) == before


def test_an_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cloud", "adpat"]) == 2
    assert "`adapt`" in capsys.readouterr().err
