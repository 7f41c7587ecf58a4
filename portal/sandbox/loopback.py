"""Run as a script: becomes another program, on a host whose name is `localhost`.

With NoInAddrAny Slurm's daemons bind to the address of gethostname() instead of to all of them;
a UTS namespace of their own makes that 127.0.0.1. It imports nothing of the project.
"""

import ctypes
import os
import socket
import sys

CLONE_NEWUTS = 0x04000000


def enter_localhost() -> None:
    """Give this process a host name of its own, `localhost`; OSError when that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUTS) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    socket.sethostname("localhost")


if __name__ == "__main__":
    enter_localhost()
    if sys.argv[1:]:
        os.execvp(sys.argv[1], sys.argv[1:])
