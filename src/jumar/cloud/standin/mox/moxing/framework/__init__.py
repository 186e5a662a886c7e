"""`from moxing.framework import file`, as some scripts write it."""

import sys

from jumar.cloud.standin import moxing_file as file

__all__ = ["file"]
sys.modules["moxing.framework.file"] = file
