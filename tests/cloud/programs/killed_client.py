import os
import signal
import sys
from pathlib import Path

from jumar.cloud import sync, transfer, verify
from jumar.cloud.address import Remote
from jumar.cloud.credentials import Credentials
from jumar.cloud.store.obs import Endpoint, ObsStore

verify.PART = transfer.LARGE = 1 << 20
what, endpoint, folder, limit = sys.argv[1:]
access, secret = os.environ["TEST_KEYS"].split()
store = ObsStore(Endpoint(endpoint, "local"), Credentials(access, secret, endpoint.partition("://")[2]))
left = int(limit)
sent = 0
name = "part" if what == "up" else "fetch"
real = getattr(store, name)


def counted(*arguments):
    global left, sent
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    sent += 1
    return real(*arguments)


setattr(store, name, counted)
place = Remote("obs", "bucket-1", "data/")
plan = sync.plan_upload if what == "up" else sync.plan_download
arguments = (Path(folder), place) if what == "up" else (place, Path(folder))
sync.run(store, plan(store, *arguments), workers=2)
print(sent)
