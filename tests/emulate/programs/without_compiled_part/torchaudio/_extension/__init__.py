from torchaudio._extension.utils import _load_lib

HAS_LIBRARY = _load_lib("_torchaudio")
