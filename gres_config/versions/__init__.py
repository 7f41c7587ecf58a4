"""The Slurm releases that are written for; each file's docstring lists what its release changed."""

import re
from dataclasses import replace

from gres_config.errors import GresConfigError
from gres_config.versions import v22_05, v23_02, v23_11, v24_05, v24_11, v25_05, v25_11, v26_05
from gres_config.versions.base import SlurmVersion

VERSIONS: dict[str, SlurmVersion] = {
    module.VERSION.name: module.VERSION
    for module in (v22_05, v23_02, v23_11, v24_05, v24_11, v25_05, v25_11, v26_05)
}
_VERSION = re.compile(r"(\d\d\.\d\d)(?:\.(\d+))?")


def get_version(text: str) -> SlurmVersion:
    """Return the release of "24.11" or "24.11.5"; GresConfigError names the known ones."""
    match = _VERSION.fullmatch(text)
    if match is None or match[1] not in VERSIONS:
        raise GresConfigError(f"no Slurm release {text!r}; known are {', '.join(VERSIONS)}")
    release = VERSIONS[match[1]]
    return replace(release, patch=int(match[2])) if match[2] else release


__all__ = ["VERSIONS", "SlurmVersion", "get_version"]
