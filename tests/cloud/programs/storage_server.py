import sys
import threading
from pathlib import Path

from jumar.cloud.disk import Disk
from jumar.cloud.standin.http import Server
from jumar.cloud.standin.obs_server import Store

disk = Disk(Path(sys.argv[1]))
disk.clean()
server = Server(Store(disk, {sys.argv[2]: sys.argv[3]}), int(sys.argv[4])).start()
print(server.port, flush=True)
threading.Event().wait()
