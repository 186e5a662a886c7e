"""Pipelines of the vision SDK: pictures in, classes, objects and tensors out, with the calls of its Python API."""

from __future__ import annotations

import importlib
import io
import json
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx_models import graph_model, node, tiny, value

from jumar.export.standin.stream import frame, messages, values

image = pytest.importorskip("PIL.Image", reason="pictures are decoded by Pillow")
Save = Callable[..., Path]
Jumar = Callable[..., Any]
PLUG_IN = """
class Boxes:
    def __init__(self, config, labels):
        with open(labels) as file:
            self.labels = file.read().split()
    def process(self, tensors):
        best = int(tensors[0].argmax())
        box = {"x0": 2, "y0": 4, "x1": 18, "y1": 20}
        return [{"classId": best, "className": self.labels[best], "confidence": 0.5, **box}]
"""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module under the vendor's name, found where the emulated machine finds it."""
    folder = Path(values.__file__).parents[1] / "modules"
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("StreamManagerApi")
    sys.modules.pop("StreamManagerApi", None)


@pytest.fixture
def model(jumar: Jumar, save: Save, tmp_path: Path) -> str:
    done = jumar("export", "om", save(tiny(size=16)), "--soc", "310P3", "-o", tmp_path / "net")
    assert done.code == 0, done.err
    (tmp_path / "labels.txt").write_text("cat\ndog\nbird\nfish\n")
    (tmp_path / "post.py").write_text(PLUG_IN)
    return str(tmp_path / "net.om")


def picture(width: int = 40, height: int = 30, kind: str = "PNG") -> bytes:
    pixels = numpy.zeros((height, width, 3), "uint8")
    pixels[:, :, 0] = numpy.arange(width) * 250 // width
    held = io.BytesIO()
    image.fromarray(pixels).save(held, kind)
    return held.getvalue()


def stream(model: str, **elements: Any) -> bytes:
    folder = str(Path(model).parent)
    post = {
        "dataSource": "infer0",
        "labelPath": f"{folder}/labels.txt",
        "postProcessConfigContent": '{"TOP_K": 2}',
        "postProcessLibPath": "lib/libresnet50postprocess.so",
    }
    infer = {"dataSource": "resize0", "modelPath": model}
    rows = {
        "stream_config": {"deviceId": "0"},
        "appsrc0": {"props": {"blocksize": "409600"}, "factory": "appsrc", "next": "decoder0"},
        "decoder0": {"factory": "mxpi_imagedecoder", "props": {"cvProcessor": "opencv"}, "next": "resize0"},
        "resize0": {"factory": "mxpi_imageresize", "next": "queue0"},
        "queue0": {"factory": "queue", "next": "infer0"},
        "infer0": {"factory": "mxpi_tensorinfer", "props": infer, "next": "post0"},
        "post0": {"factory": "mxpi_classpostprocessor", "next": "out0", "props": post},
        "out0": {"factory": "mxpi_dataserialize", "props": {"outputDataKeys": "post0"}, "next": "appsink0"},
        "appsink0": {"props": {"blocksize": "4096000"}, "factory": "appsink"},
    }  # fmt: skip
    return json.dumps({"classify": rows | elements}).encode()


def started(api: Any, text: bytes) -> Any:
    manager = api.StreamManagerApi()
    assert manager.InitManager() == 0
    assert manager.CreateMultipleStreams(text) == 0
    return manager


def sent(api: Any, data: bytes) -> Any:
    made = api.MxDataInput()
    made.data = data
    return made


def test_a_picture_becomes_classes(api: Any, model: str) -> None:
    manager = started(api, stream(model))
    assert manager.SendData(b"classify", 0, sent(api, picture())) == 0
    result = manager.GetResult(b"classify", 0, 3000)
    assert result.errorCode == 0
    rows = json.loads(result.data)["MxpiClass"]
    assert len(rows) == 2 and rows[0]["confidence"] >= rows[1]["confidence"]
    assert rows[0]["className"] == ["cat", "dog", "bird", "fish"][rows[0]["classId"]]
    assert manager.DestroyAllStreams() == 0
    assert manager.SendData(b"classify", 0, sent(api, picture())) == values.STREAM_NOT_EXIST


def test_unique_ids_over_threads(api: Any, model: str) -> None:
    manager = started(api, stream(model))
    found = {}

    def one(number: int) -> None:
        unique = manager.SendDataWithUniqueId(b"classify", b"appsrc0", sent(api, picture(20 + number)))
        found[number] = (unique, manager.GetResultWithUniqueId(b"classify", unique, 5000).errorCode)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(unique for unique, _ in found.values()) == [0, 1, 2, 3]
    assert {code for _, code in found.values()} == {0}
    assert manager.GetResultWithUniqueId(b"classify", 99, 1).errorCode == values.STREAM_TIMEOUT


def _tensors(model: str) -> bytes:
    """A pipeline from a tensor through a model to a tensor."""
    props = {"dataSource": "appsrc0", "modelPath": model}
    rows = {
        "appsrc0": {"factory": "appsrc", "next": "infer0"},
        "infer0": {"factory": "mxpi_tensorinfer", "props": props, "next": "appsink0"},
        "appsink0": {"factory": "appsink"},
    }
    return json.dumps({"tensors": rows}).encode()


def _message(api: Any, package: Any) -> tuple[Any, Any, Any]:
    """What is sent to its `appsrc0`, in a list, and whose answer is wanted."""
    item = api.MxProtobufIn()
    item.key, item.type, item.protobuf = b"appsrc0", b"MxTools.MxpiTensorPackageList", package.SerializeToString()
    items, keys = api.InProtobufVector(), api.StringVector()
    items.push_back(item)
    keys.push_back(b"infer0")
    return item, items, keys


def test_protobuf_in_and_out(api: Any, model: str) -> None:
    manager = started(api, _tensors(model))
    package = messages.make("MxpiTensorPackageList")
    tensor = package.tensorPackageVec.add().tensorVec.add()
    tensor.tensorShape.extend([1, 3, 16, 16])
    tensor.tensorDataType = 0
    tensor.dataStr = numpy.ones((1, 3, 16, 16), "float32").tobytes()
    item, items, keys = _message(api, package)
    assert manager.SendProtobuf(b"tensors", b"appsrc0", items) == 0
    out = manager.GetProtobuf(b"tensors", 0, keys)
    assert out.size() == 1 and (out[0].errorCode, out[0].messageName) == (0, b"infer0")
    answer = messages.make("MxpiTensorPackageList")
    answer.ParseFromString(out[0].messageBuf)
    assert list(answer.tensorPackageVec[0].tensorVec[0].tensorShape) == [1, 4]
    item.type = b"MxTools.Nothing"
    assert manager.SendProtobuf(b"tensors", 0, items) == values.INVALID_PARAM


def test_objects_by_a_plug_in_are_cut_out(api: Any, model: str) -> None:
    folder = str(Path(model).parent)
    elements = {
        "post0": {"factory": "mxpi_objectpostprocessor", "next": "crop0",
                  "props": {"dataSource": "infer0", "funcLanguage": "python", "postProcessLibPath": folder,
                            "pythonModule": "post", "className": "Boxes", "labelPath": f"{folder}/labels.txt"}},
        "crop0": {"factory": "mxpi_imagecrop", "next": "out0",
                  "props": {"dataSource": "post0", "dataSourceImage": "decoder0", "rightExpandRatio": "0.5"}},
        "out0": {"factory": "mxpi_dataserialize", "props": {"outputDataKeys": "post0"}, "next": "appsink0"},
    }  # fmt: skip
    manager = started(api, stream(model, **elements))
    assert manager.SendData(b"classify", 0, sent(api, picture())) == 0
    assert manager.SendData(b"classify", 0, sent(api, picture())) == 0
    (row,) = json.loads(manager.GetResult(b"classify", 0, 3000).data)["MxpiObject"]
    assert (row["x0"], row["y1"], row["classVec"][0]["confidence"]) == (2.0, 20.0, 0.5)
    keys = api.StringVector()
    keys.push_back(b"crop0")
    out = manager.GetProtobuf(b"classify", 0, keys)
    crops = messages.make("MxpiVisionList")
    crops.ParseFromString(out[0].messageBuf)
    info = crops.visionVec[0].visionInfo
    assert (info.width, info.height, info.format) == (24, 16, frame.FORMATS["BGR"])


def test_the_chips_decoder_gives_yuv_for_aipp(api: Any, jumar: Jumar, save: Save, tmp_path: Path) -> None:
    identity = graph_model([node("Identity", ["x"], ["y"])], [value("x", [1, 3, 32, 32])], [value("y", [1, 3, 32, 32])])
    file = tmp_path / "yuv.cfg"
    file.write_text("aipp_op { aipp_mode: static input_format: YUV420SP_U8 }")
    words = ("--soc", "310P3", "--aipp", file, "-o", tmp_path / "yuv")
    assert jumar("export", "om", save(identity), *words).code == 0
    rows = {
        "appsrc0": {"factory": "appsrc", "next": "decoder0"},
        "decoder0": {"factory": "mxpi_imagedecoder", "next": "resize0"},
        "resize0": {"factory": "mxpi_imageresize", "next": "infer0"},
        "infer0": {"factory": "mxpi_tensorinfer", "props": {"modelPath": str(tmp_path / "yuv.om")}, "next": "appsink0"},
        "appsink0": {"factory": "appsink"},
    }
    manager = started(api, json.dumps({"s": rows}).encode())
    manager.SendData(b"s", 0, sent(api, picture(64, 64, "JPEG")))
    keys = api.StringVector()
    keys.push_back(b"infer0")
    answer = messages.make("MxpiTensorPackageList")
    answer.ParseFromString(manager.GetProtobuf(b"s", 0, keys)[0].messageBuf)
    luma = numpy.frombuffer(answer.tensorPackageVec[0].tensorVec[0].dataStr, "float32").reshape(3, 32, 32)[0]
    assert luma[:, -1].mean() > luma[:, 0].mean() + 50


def test_mistakes_are_said(api: Any, model: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    manager = api.StreamManagerApi()
    assert manager.CreateMultipleStreams(stream(model)) == values.NOT_INITIALIZED
    manager.InitManager()
    for text, said in (
        (b"{", "is not JSON"),
        (stream(model, decoder0={"factory": "mxpi_videodecoder"}), "no element `mxpi_videodecoder`"),
        (stream(model, resize0={"factory": "mxpi_imageresize", "next": "quue0"}), "did you mean `queue0`?"),
        (stream(model, appsink0={"factory": "appsink", "next": "appsrc0"}), "form a cycle"),
        (stream(model, infer0={"factory": "mxpi_tensorinfer", "props": {"modelPath": "no.om"}, "next": "post0"}),
         "no such file: `no.om`"),
        (stream(model, post0={"factory": "mxpi_objectpostprocessor", "next": "out0",
                              "props": {"postProcessLibPath": "libyolov3postprocess.so"}}), "cannot be loaded here"),
    ):  # fmt: skip
        assert manager.CreateMultipleStreams(text) == values.STREAM_CREATE_FAILED
        assert said in caplog.text
    assert manager.CreateMultipleStreamsFromFile(b"nothing.pipeline") == values.NO_EXIST
    assert manager.CreateMultipleStreams(stream(model)) == 0
    assert manager.SendData(b"classify", 3, sent(api, b"")) == values.ELEMENT_NOT_EXIST
    assert manager.SendData(b"classify", 0, sent(api, b"no picture")) == 0
    assert manager.GetResult(b"classify", 0, 3000).errorCode == values.ELEMENT_INVALID
    assert "cannot be decoded" in caplog.text
    assert manager.GetResult(b"classify", 0, 1).errorCode == values.STREAM_TIMEOUT
    assert manager.SendDataWithUniqueId(b"other", 0, sent(api, b"")) == -1


def test_middle_of_a_picture_for_the_model(api: Any, model: str) -> None:
    crop: dict[str, Any] = {"factory": "mxpi_opencvcentercrop", "next": "infer0", "props": {"cropWidth": "16"}}
    size = {"dataSource": "decoder0", "resizeWidth": "32", "resizeHeight": "24"}
    infer = {"dataSource": "crop0", "modelPath": model}
    rows = {
        "resize0": {"factory": "mxpi_imageresize", "props": size, "next": "queue0"},
        "queue0": {"factory": "queue", "next": "crop0"},
        "crop0": crop,
        "infer0": {"factory": "mxpi_tensorinfer", "props": infer, "next": "post0"},
    }
    for wrong in ({"cropWidth": "16"}, "16x16"):
        crop["props"] = wrong
        manager = api.StreamManagerApi()
        manager.InitManager()
        assert manager.CreateMultipleStreams(stream(model, **rows)) != 0
    crop["props"] = {"cropWidth": "16", "cropHeight": "16"}
    manager = started(api, stream(model, **rows))
    assert manager.SendData(b"classify", 0, sent(api, picture())) == 0
    keys = api.StringVector()
    keys.push_back(b"crop0")
    found = messages.make("MxpiVisionList")
    found.ParseFromString(manager.GetProtobuf(b"classify", 0, keys)[0].messageBuf)
    info = found.visionVec[0].visionInfo
    assert (info.width, info.height) == (16, 16)


def test_tensor_without_a_type_is_taken_as_is(api: Any, jumar: Jumar, save: Save, tmp_path: Path) -> None:
    words = graph_model(
        [node("Add", ["x", "x"], ["y"])], [value("x", [1, 4], "INT32")],
        [value("y", [1, 4], "INT32")],
    )  # fmt: skip
    assert jumar("export", "om", save(words), "--soc", "310P3", "-o", tmp_path / "words").code == 0
    manager = started(api, _tensors(str(tmp_path / "words.om")))
    package = messages.make("MxpiTensorPackageList")
    tensor = package.tensorPackageVec.add().tensorVec.add()
    tensor.tensorShape.extend([1, 4])
    tensor.dataStr = numpy.arange(4, dtype="int32").tobytes()
    _, items, keys = _message(api, package)
    assert manager.SendProtobuf(b"tensors", b"appsrc0", items) == 0
    answer = messages.make("MxpiTensorPackageList")
    answer.ParseFromString(manager.GetProtobuf(b"tensors", 0, keys)[0].messageBuf)
    assert numpy.frombuffer(answer.tensorPackageVec[0].tensorVec[0].dataStr, "int32").tolist() == [0, 2, 4, 6]
