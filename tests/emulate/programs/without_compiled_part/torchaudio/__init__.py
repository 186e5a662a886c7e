"""In the shape of torchaudio beside a CPU build of torch: it has a compiled part, which does not load."""

from torchaudio._extension import HAS_LIBRARY as HAS_LIBRARY
