"""pyACL's picture calls, callbacks and models in memory: what the vendor's samples call, checked against Pillow."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx_models import tiny

from jumar.core.compat import zip
from jumar.export.standin import pyacl
from jumar.export.standin.pyacl.pictures import BGR, NV12, NV21, RGB
from jumar.export.standin.pyacl.state import INVALID_PARAM, NO_CALLBACK, REPORT_TIMEOUT, STATE

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pip install pillow")
acl: Any = pyacl


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    assert acl.init() == 0
    yield
    acl.finalize()
    STATE.handles.clear()
    STATE.memory.clear()


@pytest.fixture
def channel() -> int:
    made = acl.media.dvpp_create_channel_desc()
    assert acl.media.dvpp_create_channel(made) == 0
    return int(made)


def smooth(width: int, height: int) -> Any:
    rows, columns = numpy.mgrid[0:height, 0:width]
    pixels = numpy.dstack([columns * 255 // width, rows * 255 // height, (columns + rows) * 127 // (width + height)])
    return Image.fromarray(pixels.astype("uint8"))


def picture(width: int, height: int, form: int = NV12, align: tuple[int, int] = (16, 2)) -> tuple[int, int]:
    """A description with memory, and how many bytes that has."""
    columns, rows = (-(-value // step) * step for value, step in zip((width, height), align, strict=True))
    size = columns * rows * 3 // (2 if form in (NV12, NV21) else 1)
    pointer, code = acl.media.dvpp_malloc(size)
    assert code == 0
    made = acl.media.dvpp_create_pic_desc()
    fields = {"data": pointer, "size": size, "format": form, "width": width, "height": height}
    for name, value in {**fields, "width_stride": columns, "height_stride": rows}.items():
        assert getattr(acl.media, f"dvpp_set_pic_desc_{name}")(made, value) == 0
    return made, size


def jpeg(image: Any) -> tuple[int, int, bytes]:
    held = io.BytesIO()
    image.save(held, "JPEG", quality=95)
    data = held.getvalue()
    return acl.util.bytes_to_ptr(data), len(data), data


def pixels(made: int) -> Any:
    return numpy.asarray(pyacl.media.pictures.read(STATE.handles[made])).astype(int)


@pytest.mark.parametrize("form", [NV12, NV21, RGB, BGR])
def test_a_jpeg_is_decoded_and_resized_as_pillow_does(channel: int, form: int) -> None:
    image = smooth(100, 60)
    pointer, size, data = jpeg(image)
    assert acl.media.dvpp_jpeg_get_image_info(pointer, size) == (100, 60, 3, 0)
    decoded, _ = picture(100, 60, form, (128, 16))
    assert acl.media.dvpp_jpeg_decode_async(channel, pointer, size, decoded, 0) == 0, data[:4]
    assert numpy.abs(pixels(decoded) - numpy.asarray(image)).mean() < 4
    small, _ = picture(50, 30, form)
    config = acl.media.dvpp_create_resize_config()
    assert acl.media.dvpp_vpc_resize_async(channel, decoded, small, config, 0) == 0
    expected = numpy.asarray(image.resize((50, 30), Image.Resampling.BILINEAR)).astype(int)
    assert numpy.abs(pixels(small) - expected).mean() < 4


def test_crop_and_paste_and_the_way_back_to_a_jpeg(channel: int) -> None:
    image = smooth(64, 64)
    pointer, _, data = jpeg(image)
    whole, _ = picture(64, 64)
    assert acl.media.dvpp_jpeg_decode_async(channel, pointer, len(data), whole, 0) == 0
    out, room = picture(64, 64)
    acl.rt.memset(STATE.handles[out].data, room, 128, room)
    crop = acl.media.dvpp_create_roi_config(0, 31, 0, 31)
    place = acl.media.dvpp_create_roi_config(16, 47, 16, 47)
    assert acl.media.dvpp_vpc_crop_and_paste_async(channel, whole, out, crop, place, 0) == 0
    assert numpy.abs(pixels(out)[16:48, 16:48] - pixels(whole)[:32, :32]).mean() < 3
    assert (numpy.abs(pixels(out)[:14, :14] - 128) <= 2).all(), "what is around the place stays"
    config = acl.media.dvpp_create_jpege_config()
    assert acl.media.dvpp_set_jpege_config_level(config, 90) == 0
    most, code = acl.media.dvpp_jpeg_predict_enc_size(out, config)
    target, _ = acl.media.dvpp_malloc(most)
    length = numpy.array([most], dtype=numpy.int32)
    where = acl.util.numpy_to_ptr(length)
    assert (code, acl.media.dvpp_jpeg_encode_async(channel, out, target, where, config, 0)) == (0, 0)
    assert Image.open(io.BytesIO(acl.util.ptr_to_bytes(target, int(length[0])))).size == (64, 64)


def test_wrong_pictures_are_error_numbers(channel: int) -> None:
    target, _ = picture(32, 32)
    junk = b"no picture"
    assert acl.media.dvpp_jpeg_decode_async(channel, acl.util.bytes_to_ptr(junk), len(junk), target, 0) == INVALID_PARAM
    assert "not a picture that can be decoded" in acl.get_recent_err_msg()
    assert acl.media.dvpp_get_pic_desc_ret_code(target) != 0
    outside = acl.media.dvpp_create_roi_config(0, 40, 0, 31)
    assert acl.media.dvpp_vpc_crop_async(channel, target, picture(16, 16)[0], outside, 0) == INVALID_PARAM
    acl.media.dvpp_set_pic_desc_size(target, 10)
    assert acl.media.dvpp_vpc_resize_async(channel, target, target, 0, 0) == INVALID_PARAM
    assert acl.media.dvpp_destroy_channel(channel) == 0
    assert acl.media.dvpp_vpc_crop_async(channel, target, target, outside, 0) == INVALID_PARAM
    with pytest.raises(AttributeError, match="no video"):
        acl.media.vdec_create_channel(0)


def test_callbacks_run_in_the_thread_that_asked_for_them() -> None:
    stream, _ = acl.rt.create_stream()
    seen: list[tuple[str, int]] = []
    stop = threading.Event()

    def take(words: list[int]) -> None:
        while not stop.is_set():
            acl.rt.process_report(words[0])

    assert acl.rt.launch_callback(print, [], 1, stream) == NO_CALLBACK
    thread, code = acl.util.start_thread(take, [5])
    assert (code, acl.rt.subscribe_report(thread, stream)) == (0, 0)
    assert acl.rt.launch_callback(lambda data: seen.append((data, threading.get_ident())), "done", 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert seen == [("done", thread)]
    assert acl.rt.unsubscribe_report(thread, stream) == 0
    stop.set()
    assert acl.util.stop_thread(thread) == 0
    assert acl.rt.process_report(1) == REPORT_TIMEOUT


def test_model_from_memory_and_copies_over_the_end(jumar: Any, save: Any, tmp_path: Path) -> None:
    assert jumar("export", "om", save(tiny()), "--soc", "310P3", "-o", tmp_path / "net").code == 0
    data = (tmp_path / "net.om").read_bytes()
    model, code = acl.mdl.load_from_mem(acl.util.bytes_to_ptr(data), len(data))
    assert code == 0 and acl.mdl.get_desc(acl.mdl.create_desc(), model) == 0
    for bad in (data[: len(data) // 2], b"IMOD" + data, b""):
        assert acl.mdl.load_from_mem(acl.util.bytes_to_ptr(bad), len(bad)) == (0, INVALID_PARAM)
    room = 1 << 40
    assert acl.rt.memcpy(acl.rt.malloc(8)[0], room, acl.util.bytes_to_ptr(data), room, 1) == INVALID_PARAM
    target, _ = acl.rt.malloc(1 << 30)
    assert acl.rt.memcpy(target, 1 << 30, acl.util.bytes_to_ptr(b"short"), 1 << 30, 1) in (0, INVALID_PARAM)
