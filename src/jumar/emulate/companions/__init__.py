"""What public libraries need to run on emulated cards: one module for each, loaded when it is imported."""

WAITED_FOR = {"torchvision.extension": "torchvision", "torchvision.ops.roi_align": "torchvision"}
"""Imports of the program, and the module here whose `after` is called with what was imported."""
