"""The text of every configuration file of the sandbox, rendered from values; writes nothing."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from gres_config.render import (
    NodeEndpoint,
    render_cgroup_conf,
    render_cluster,
    render_gres_conf,
    render_nodes,
    render_partitions,
)
from portal.sandbox.paths import SandboxPaths
from portal.sandbox.spec import SandboxSpec

LOOPBACK = "127.0.0.1"
DATABASE = "slurm_acct_db"
DATABASE_USER = "slurm"


def name_slurmd(node: str) -> str:
    """Return the service name of a node's slurmd."""
    return f"slurmd-{node}"


def render_slurm_conf(spec: SandboxSpec, paths: SandboxPaths, ports: Mapping[str, int]) -> str:
    """Return slurm.conf, for people, the portal and (by inclusion) the daemons.

    PriorityDecayHalfLife, AccountingStorageEnforce and AccountingStorageTRES are what makes
    GrpTRESMins count for ever and typed limits hold (slurm.conf(5), resource_limits). The daemons
    log to their standard error; only slurmstepd, which has none, needs SlurmdLogFile.
    """
    inventory = spec.inventory
    endpoints = {
        node: NodeEndpoint("localhost", LOOPBACK, ports[name_slurmd(node)])
        for node in spec.node_names
    }
    return f"""# Written by the sandbox at every start.
ClusterName={spec.cluster_name}
SlurmctldHost=localhost({LOOPBACK})
SlurmctldPort={ports["slurmctld"]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={paths.munge_socket}
CredType=cred/munge
StateSaveLocation={paths.controller_state}
SlurmdSpoolDir={paths.spool}/%n
SlurmctldPidFile={paths.run}/slurmctld.pid
SlurmdPidFile={paths.run}/slurmd-%n.pid
SlurmdLogFile={paths.steps}/%n.log
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
SlurmctldDebug=info
SlurmdDebug=info
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=60
InactiveLimit=0
KillWait=2
MinJobAge=300
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,bf_continue,sched_min_interval=100000,batch_sched_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityType=priority/multifactor
PriorityDecayHalfLife=0
PriorityUsageResetPeriod=NONE
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={LOOPBACK}
AccountingStoragePort={ports["slurmdbd"]}
AccountingStoragePass={paths.munge_socket}
AccountingStorageEnforce=associations,limits,qos,safe
JobSubmitPlugins=lua
{render_cluster(inventory)}{render_nodes(inventory.node_groups, endpoints)}{
        render_partitions(inventory.partitions)
    }"""


def render_daemons_conf(paths: SandboxPaths, *, on_loopback: bool) -> str:
    """Return the daemons' own slurm.conf: the common one, bound to the host's address alone.

    srun and salloc must not bind so: outside of the daemons' namespace the host's name may be
    any address.
    """
    binding = "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n" if on_loopback else ""
    return f"# Written by the sandbox at every start.\nInclude {paths.slurm_conf}\n{binding}"


def render_gres(spec: SandboxSpec, paths: SandboxPaths) -> str:
    """Return gres.conf over the sandbox's device files."""
    return render_gres_conf(spec.node_groups, PurePosixPath(paths.devices))


def render_cgroups(spec: SandboxSpec) -> str:
    """Return cgroup.conf: the inventory names the plugin, since looking for one ends slurmd.

    No plugin of the sandbox uses cgroups, but slurmd loads the plugin anyway: by itself it ends
    where /sys/fs/cgroup is not mounted, as in many containers, and asks systemd for a scope where
    there is only cgroup v2.
    """
    return f"# Written by the sandbox at every start.\n{render_cgroup_conf(spec.inventory)}"


def render_slurmdbd_conf(
    paths: SandboxPaths, ports: Mapping[str, int], password: str, *, on_loopback: bool
) -> str:
    """Return slurmdbd.conf, which slurmdbd wants readable to its user alone."""
    binding = "CommunicationParameters=NoInAddrAny\n" if on_loopback else ""
    return f"""# Written by the sandbox at every start.
AuthType=auth/munge
AuthInfo=socket={paths.munge_socket}
DbdHost=localhost
DbdAddr={LOOPBACK}
DbdPort={ports["slurmdbd"]}
SlurmUser=root
DebugLevel=info
DebugLevelSyslog=quiet
PidFile={paths.run}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost={LOOPBACK}
StoragePort={ports["mariadb"]}
StorageUser={DATABASE_USER}
StoragePass={password}
StorageLoc={DATABASE}
{binding}"""


def render_database_init(password: str) -> str:
    """Return the SQL that MariaDB runs at each start; the password is hexadecimal digits."""
    account = f"'{DATABASE_USER}'@'{LOOPBACK}'"
    return (
        f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
        f"CREATE USER IF NOT EXISTS {account};\n"
        f"ALTER USER {account} IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON {DATABASE}.* TO {account};\n"
    )
