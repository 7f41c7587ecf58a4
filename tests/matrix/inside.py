"""Runs as the first process of namespaces of its own, and starts Slurm's daemons there.

    unshare --mount --uts --ipc --net --pid --fork python -I inside.py ROOT CASE

The daemons see ROOT as /, CASE as /run/matrix, a /dev that holds only what the case makes, and
the loopback device. Nothing of that can outlive this process: at its end, whatever ends it, the
kernel kills what it started and drops the mounts. It ends when its standard input does.

Orders come as lines of JSON on standard input; each is answered by one on standard output.
It imports nothing of the project.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
from pathlib import Path

CASE = "/run/matrix"
CLONE_NEWUTS = 0x04000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1
PLAIN_DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}
LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags):
    """Mount, or raise OSError."""
    words = [str(word).encode() if word is not None else None for word in (source, target, kind)]
    if LIBC.mount(*words, flags, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {source} on {target}: {os.strerror(number)}")


def bring_loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(handle, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
        # getaddrinfo's AI_ADDRCONFIG wants an address beside 127.0.0.1, or no name is found.
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, bytes([10, 0, 0, 1]))
        fcntl.ioctl(handle, SIOCSIFADDR, address)


def mount_all(root, case):
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("proc", root / "proc", "proc", 0)
    if root != Path("/"):
        mount("/sys", root / "sys", None, MS_BIND | MS_REC)
    for folder in ("dev", "run"):
        mount("tmpfs", root / folder, "tmpfs", 0)
    old = os.umask(0)
    for name, minor in PLAIN_DEVICES.items():
        os.mknod(root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(1, minor))
    os.umask(old)
    (root / "dev" / "shm").mkdir()
    inner = root / CASE.lstrip("/")
    inner.mkdir()
    mount(case, inner, None, MS_BIND)
    mount(case / "hosts", root / "etc" / "hosts", None, MS_BIND)


class Host:
    """The started programs by name."""

    def __init__(self, root, case):
        self.root, self.case, self.started = root, case, {}

    def enter(self, hostname):
        """Return what a child does before it becomes its program."""

        def act():
            if LIBC.unshare(CLONE_NEWUTS) == 0:
                socket.sethostname(hostname)
            os.chroot(self.root)
            os.chdir("/")

        return act

    def make_environment(self):
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {"PATH": path, "LANG": "C.UTF-8", "SLURM_CONF": f"{CASE}/etc/slurm.conf"}

    def start(self, name, argv, hostname):
        with (self.case / "log" / f"{name}.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                argv, env=self.make_environment(), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=self.enter(hostname),
            )  # fmt: skip
        return {"pid": self.started[name].pid}

    def poll(self, name):
        return {"code": self.started[name].poll()}

    def stop(self, name, number):
        process = self.started.pop(name)
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        return {"code": process.wait()}

    def run(self, argv, hostname, timeout):
        try:
            done = subprocess.run(
                argv, env=self.make_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                text=True, errors="replace", timeout=timeout, preexec_fn=self.enter(hostname),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"code": 124, "out": "", "err": f"no end within {timeout} s"}
        return {"code": done.returncode, "out": done.stdout, "err": done.stderr}

    def make_device(self, path):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mknod(target, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        return {}

    def remove_device(self, path):
        (self.root / path.lstrip("/")).unlink()
        return {}


def main():
    root, case = Path(sys.argv[1]), Path(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bring_loopback_up()
    mount_all(root, case)
    host = Host(root, case)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(host, order.pop("do"))(**order)
        except (OSError, KeyError) as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
