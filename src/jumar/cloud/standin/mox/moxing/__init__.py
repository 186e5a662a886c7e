"""MoXing as scripts know it, for jobs of Jumar's stand-in only: `file` works on the store of this machine."""

import sys

from jumar.cloud.standin import moxing_file as file
from jumar.cloud.standin.moxing_file import MoxFileNotExistsException

__all__ = ["MoxFileNotExistsException", "file"]
__version__ = "1.17.3-jumar"
sys.modules["moxing.file"] = file
