"""What public libraries need to run on emulated cards: one module for each, loaded when it is imported."""

WAITED_FOR = {
    "torchaudio._extension.utils": "jumar.emulate.companions.torchaudio",
    "torchvision.extension": "jumar.emulate.companions.torchvision",
    "torchvision.ops.roi_align": "jumar.emulate.companions.torchvision",
    "triton": "jumar.emulate.triton.install",
    "vllm_ascend.vllm_ascend_C": "jumar.emulate.companions.vllm_ascend",
}
"""Imports of the program, and the module whose `after` is called with what was imported."""
