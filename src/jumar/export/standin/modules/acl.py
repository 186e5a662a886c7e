"""The stand-in of pyACL: `import acl` works where no real one is installed, and so does `from acl.rt import memcpy`."""

import sys

from jumar.export.standin.pyacl import *  # noqa: F403
from jumar.export.standin.pyacl import __getattr__ as __getattr__
from jumar.export.standin.pyacl import mdl, media, rt, util

# The vendor's acl is one library and no package; its parts are modules all the same.
_PARTS = {"mdl": mdl, "media": media, "rt": rt, "util": util}
sys.modules.update({f"{__name__}.{name}": part for name, part in _PARTS.items()})
