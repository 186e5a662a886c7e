"""The stand-in of pyACL: `import acl` works where no real one is installed."""

from jumar.export.standin.pyacl import *  # noqa: F403
from jumar.export.standin.pyacl import __getattr__ as __getattr__
