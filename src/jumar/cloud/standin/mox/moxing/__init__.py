"""MoXing's `file` for jobs of Jumar's stand-in, over the local store."""

import sys

from jumar.cloud.standin import moxing_file as file
from jumar.cloud.standin.moxing_file import MoxFileNotExistsException

__all__ = ["MoxFileNotExistsException", "file"]
__version__ = "1.17.3-jumar"
sys.modules["moxing.file"] = file
