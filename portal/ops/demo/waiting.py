"""Waits for what other programs do."""

import time
from collections.abc import Callable

from portal.ops.demo.console import DemoError


def wait_for(what: str, is_so: Callable[[], bool], seconds: float, next_step: str = "") -> float:
    """Wait until it is so; return how many seconds that took. DemoError when time is up."""
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > seconds:
            raise DemoError(f"{what}: not so within {seconds:.0f} s", next_step=next_step)
        time.sleep(0.2)
    return time.monotonic() - begun
