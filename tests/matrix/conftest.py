"""Fixtures of the matrix: each release, and clusters that are started from two texts."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import pytest

from tests.matrix.cluster import Cluster
from tests.matrix.configs import write_etc
from tests.matrix.releases import RELEASES, MatrixError, Release, ensure_release

MakeCluster = Callable[..., AbstractContextManager[Cluster]]
_NUMBERS = count()


@pytest.fixture(scope="session", params=RELEASES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    """Give each release; its chroot is built where there is none."""
    chosen: Release = request.param
    if os.geteuid() != 0:
        pytest.fail("chroots and namespaces need root: run the matrix as root")
    try:
        ensure_release(chosen)
    except MatrixError as error:
        # Debian's suites move on; a release that it no longer has is no fault of the code.
        if "has Slurm" in str(error):
            pytest.skip(str(error))
        pytest.fail(str(error))
    _remove_abandoned_cases(chosen)
    return chosen


def _remove_abandoned_cases(release: Release) -> None:
    """Remove the folders of runs that were killed; their processes ended with them."""
    for case in release.folder.glob("case-*"):
        pid = case.name.split("-")[1]
        if not Path(f"/proc/{pid}").exists():
            shutil.rmtree(case, ignore_errors=True)


@pytest.fixture
def make_cluster(release: Release) -> Iterator[MakeCluster]:
    """Return a function that makes a cluster from the texts of slurm.conf and gres.conf."""
    made: list[Path] = []

    def make(
        slurm: str,
        gres: str = "",
        *,
        nodes: tuple[str, ...] = ("n1",),
        common: str | None = None,
        absent: tuple[str, ...] = (),
        more: dict[str, str] | None = None,
    ) -> Cluster:
        case = release.folder / f"case-{os.getpid()}-{next(_NUMBERS)}"
        made.append(case)
        write_etc(case / "etc", release, slurm, gres, common=common, more=more)
        return Cluster(release, case, nodes, absent)

    yield make
    for case in made:
        shutil.rmtree(case, ignore_errors=True)
