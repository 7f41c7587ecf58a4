"""The lines of slurm.conf that every case shares, so that a case holds only what it is about."""

from pathlib import Path

from tests.matrix.cluster import CONTROLLER
from tests.matrix.inside import CASE
from tests.matrix.releases import Release


def make_common_lines(*, select: str = "select/cons_tres") -> str:
    """Return slurm.conf without GRES, nodes and partitions.

    config_overrides: the nodes of a case have more CPUs and memory than this machine. With
    NoInAddrAny each slurmd binds to the address of its own host name.
    """
    parameters = "SelectTypeParameters=CR_Core_Memory\n" if select != "select/linear" else ""
    return f"""ClusterName=matrix
SlurmctldHost={CONTROLLER}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={CASE}/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny
StateSaveLocation={CASE}/state
SlurmdSpoolDir={CASE}/spool/%n
SlurmctldPidFile={CASE}/slurmctld.pid
SlurmdPidFile={CASE}/slurmd-%n.pid
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
SlurmctldDebug=verbose
SlurmdDebug=verbose
MpiDefault=none
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SlurmdParameters=config_overrides
ReturnToService=2
SelectType={select}
{parameters}"""


def make_cgroup_conf(release: Release) -> str:
    """Return cgroup.conf for a machine without cgroup v2.

    22.05 has no plugin "disabled" and ends where it looks for one by itself; 23.11 and newer end
    on cgroup/v1 that is not mounted.
    """
    plugin = "cgroup/v1" if release.version == "22.05" else "disabled"
    return f"CgroupPlugin={plugin}\n"


def write_etc(
    folder: Path,
    release: Release,
    body: str,
    gres: str,
    *,
    common: str | None = None,
    more: dict[str, str] | None = None,
) -> None:
    """Write slurm.conf (common lines and `body`), gres.conf, cgroup.conf and `more` files."""
    folder.mkdir(parents=True)
    common = make_common_lines() if common is None else common
    (folder / "slurm.conf").write_text(f"{common}{body}")
    (folder / "gres.conf").write_text(gres)
    (folder / "cgroup.conf").write_text(make_cgroup_conf(release))
    for name, text in (more or {}).items():
        (folder / name).write_text(text)
