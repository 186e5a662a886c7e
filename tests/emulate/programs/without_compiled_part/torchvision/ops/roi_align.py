import functools

from torchvision.extension import _assert_has_ops


def _whole(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    _assert_has_ops()
    return input.mean((2, 3)) * spatial_scale


@functools.wraps(_whole)
def _roi_align(*words):
    raise AssertionError("it was compiled")
