"""What the functional tests share beside the sandbox itself (tests/sandbox_fixtures.py)."""

import time
from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def wait_until() -> Callable[[Callable[[], bool], float], None]:
    """Return a function that waits until a condition holds, and fails after some seconds."""

    def wait(is_true: Callable[[], bool], timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        while not is_true():
            if time.monotonic() > deadline:
                pytest.fail(f"not so after {timeout_seconds} s: {is_true}")
            time.sleep(0.1)

    return wait
