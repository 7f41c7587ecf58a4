"""The programs of the sandbox as services: how each starts, in which order, when it is ready."""

import os
import pwd
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from gres_config.render import list_gres_records
from portal.sandbox import loopback
from portal.sandbox.config import LOOPBACK, name_slurmd, render_database_init
from portal.sandbox.errors import SandboxError, read_last_useful_line
from portal.sandbox.paths import SandboxPaths
from portal.sandbox.processes import POLL_SECONDS, Service, write_atomically
from portal.sandbox.spec import SandboxSpec

DATABASE_UNIX_USER = "mysql"
MUNGE_UNIX_USER = "munge"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
START_TIMEOUT_SECONDS = 60.0
CANCEL_SECONDS = 8.0
NEEDED_SPACE_MIB = 250
_LAUNCHER = (sys.executable, "-I", "-S", str(Path(loopback.__file__).resolve()))


def make_environment(slurm_conf: Path) -> dict[str, str]:
    """Return a clean environment: nothing of the caller's can name another Slurm."""
    return {"PATH": PATH, "LANG": "C.UTF-8", "SLURM_CONF": str(slurm_conf)}


def run_command(
    argv: Sequence[str], env: Mapping[str, str], timeout_seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; the exit code is the caller's to judge."""
    return subprocess.run(
        list(argv), env=dict(env), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, errors="replace", timeout=timeout_seconds, check=False,
    )  # fmt: skip


def can_enter_localhost() -> bool:
    """Whether the daemons can have a host name of their own (see loopback)."""
    return run_command(_LAUNCHER, {"PATH": PATH}, 20).returncode == 0


def list_port_names(spec: SandboxSpec) -> tuple[str, ...]:
    """Return the services that listen on a port."""
    return ("mariadb", "slurmdbd", "slurmctld", *(name_slurmd(node) for node in spec.node_names))


def make_folders(paths: SandboxPaths, spec: SandboxSpec) -> None:
    """Make the folders, device files and the munge key, each with the owner it needs."""
    for folder in (paths.pids, paths.etc, paths.run, paths.steps, paths.spool, paths.devices):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
    paths.controller_state.mkdir(mode=0o700, exist_ok=True)
    for node in spec.node_names:
        (paths.spool / node).mkdir(mode=0o755, exist_ok=True)
    _make_owned_folder(paths.database_socket.parent, DATABASE_UNIX_USER, 0o755)
    _make_owned_folder(paths.munge_socket.parent, MUNGE_UNIX_USER, 0o755)
    _make_owned_folder(paths.munge, MUNGE_UNIX_USER, 0o700)
    _make_munge_key(paths.munge_key)
    for group in spec.node_groups:
        for record in list_gres_records(group, PurePosixPath(paths.devices)):
            for file in record.files:
                _make_device(Path(file))


def _make_device(path: Path) -> None:
    """Make a stand-in for a GPU's device: a second /dev/null, which no driver of a real GPU has.

    For plain files, the fallback where devices cannot be made, Slurm counts the GPUs all the
    same and sets no CUDA_VISIBLE_DEVICES.
    """
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
        path.chmod(0o666)
    except OSError:
        path.touch(0o666)


def _make_owned_folder(folder: Path, user: str, mode: int) -> None:
    folder.mkdir(mode=mode, exist_ok=True)
    folder.chmod(mode)
    entry = pwd.getpwnam(user)
    os.chown(folder, entry.pw_uid, entry.pw_gid)


def _make_munge_key(path: Path) -> None:
    if path.exists() and path.stat().st_size >= 32:
        return
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(descriptor, "wb") as key:
        key.write(os.urandom(128))
    entry = pwd.getpwnam(MUNGE_UNIX_USER)
    os.chown(temporary, entry.pw_uid, entry.pw_gid)
    temporary.replace(path)


def make_database(paths: SandboxPaths, password: str) -> None:
    """Make MariaDB's data folder where there is none (whole or not at all), and its start SQL."""
    init_file = paths.run / "init.sql"
    entry = pwd.getpwnam(DATABASE_UNIX_USER)
    write_atomically(init_file, render_database_init(password), 0o400)
    os.chown(init_file, entry.pw_uid, entry.pw_gid)
    if paths.database.exists():
        return
    _require_space(paths.public)
    unfinished = paths.database.with_name("mysql.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    os.chown(unfinished, entry.pw_uid, entry.pw_gid)
    argv = [
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={unfinished}",
        f"--user={DATABASE_UNIX_USER}",
        "--auth-root-authentication-method=socket",
        "--skip-test-db",
        "--innodb-log-file-size=16M",
    ]
    done = run_command(argv, {"PATH": PATH, "LANG": "C.UTF-8"}, 120)
    log_path = paths.logs / "mariadb-install.log"
    log_path.write_text(done.stdout + done.stderr, "utf-8")
    if done.returncode != 0:
        raise SandboxError(
            "make MariaDB's data folder",
            read_last_useful_line(log_path) or f"exit code {done.returncode}",
            log_path,
            "read the log, remove the cause and run the same command again",
        )
    unfinished.rename(paths.database)


def _require_space(folder: Path) -> None:
    """Raise SandboxError where the data folder would not fit: MariaDB does not tell that well."""
    free_mib = shutil.disk_usage(folder).free // 2**20
    if free_mib < NEEDED_SPACE_MIB:
        raise SandboxError(
            "make MariaDB's data folder",
            f"{folder} has {free_mib} MiB free; about {NEEDED_SPACE_MIB} are needed",
            next_step="make room there and run the same command again",
        )


def make_services(
    paths: SandboxPaths, spec: SandboxSpec, ports: Mapping[str, int], *, on_loopback: bool
) -> tuple[Service, ...]:
    """Return all services in the order of their start."""
    launcher = _LAUNCHER if on_loopback else ()

    def make_service(
        name: str, argv: Sequence[str], is_ready: Callable[[], bool], user: str | None = None
    ) -> Service:
        return Service(
            name=name,
            argv=argv,
            env=make_environment(paths.daemons_conf),
            cwd=paths.public,
            log_path=paths.logs / f"{name}.log",
            pid_path=paths.pids / f"{name}.json",
            is_ready=is_ready,
            user=user,
        )

    def is_listening(name: str) -> Callable[[], bool]:
        return lambda: name in ports and is_port_listening(ports[name])

    return (
        make_service(
            "munged",
            _list_munged_arguments(paths),
            lambda: is_socket_listening(paths.munge_socket),
            MUNGE_UNIX_USER,
        ),
        make_service(
            "mariadb",
            _list_mariadb_arguments(paths, ports.get("mariadb", 0)),
            lambda: "mariadb" in ports and is_database_answering(ports["mariadb"]),
        ),
        make_service("slurmdbd", [*launcher, "slurmdbd", "-D"], is_listening("slurmdbd")),
        make_service("slurmctld", [*launcher, "slurmctld", "-D"], is_listening("slurmctld")),
        *(
            make_service(
                name_slurmd(node),
                [*launcher, "slurmd", "-D", "-N", node],
                is_listening(name_slurmd(node)),
            )
            for node in spec.node_names
        ),
    )


def _list_munged_arguments(paths: SandboxPaths) -> list[str]:
    # --force: munged distrusts a clone in a person's home folder, and a socket left by a kill.
    return [
        "munged",
        "--foreground",
        "--force",
        f"--socket={paths.munge_socket}",
        f"--key-file={paths.munge_key}",
        f"--pid-file={paths.munge}/munged.pid",
        f"--seed-file={paths.munge}/munged.seed",
        f"--log-file={paths.munge}/munged.log",
    ]


def _list_mariadb_arguments(paths: SandboxPaths, port: int) -> list[str]:
    return [
        "mariadbd",
        "--no-defaults",
        f"--datadir={paths.database}",
        f"--socket={paths.database_socket}",
        f"--pid-file={paths.database_socket.parent}/mysqld.pid",
        f"--init-file={paths.run}/init.sql",
        f"--port={port}",
        f"--bind-address={LOOPBACK}",
        f"--user={DATABASE_UNIX_USER}",
        "--skip-name-resolve",
        "--skip-log-bin",
        "--innodb-buffer-pool-size=64M",
        "--innodb-log-file-size=16M",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-lock-wait-timeout=900",
    ]


def start_services(services: Sequence[Service], prepare_database: Callable[[], None]) -> None:
    """Start what does not run and wait until each is ready.

    munged and MariaDB start side by side, so do slurmctld and the nodes; slurmdbd needs both of
    the first, slurmctld needs slurmdbd.
    """
    by_name = {service.name: service for service in services}
    munged, mariadb, slurmdbd = (by_name[name] for name in ("munged", "mariadb", "slurmdbd"))
    rest = [service for service in services if service not in (munged, mariadb, slurmdbd)]
    for batch in ([munged, mariadb], [slurmdbd], rest):
        offsets = []
        for service in batch:
            offsets.append(service.get_log_size())
            if service is mariadb and not mariadb.find_process():
                prepare_database()
            service.start()
        for service, offset in zip(batch, offsets, strict=True):
            service.wait_ready(START_TIMEOUT_SECONDS, offset)


def wait_for_nodes(spec: SandboxSpec, env: Mapping[str, str], log_path: Path) -> None:
    """Wait until every node can take jobs; SandboxError names those that cannot, and why."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while True:
        done = run_command(["sinfo", "-h", "-N", "-o", "%N|%T|%E"], env, 30)
        rows = {tuple(line.split("|", 2)) for line in done.stdout.splitlines()}
        good = {row[0] for row in rows if row[1] in {"idle", "mixed", "allocated", "completing"}}
        missing = [node for node in spec.node_names if node not in good]
        if done.returncode == 0 and not missing:
            return
        if time.monotonic() > deadline:
            seen = "; ".join(" ".join(row) for row in sorted(rows) if row[0] in missing)
            raise SandboxError(
                "wait for the nodes",
                f"{', '.join(missing)} not ready: {seen or done.stderr.strip()}",
                log_path,
                "read the log of the node beside it as well; run the same command again",
            )
        time.sleep(POLL_SECONDS * 2)


def cancel_running_jobs(env: Mapping[str, str]) -> int:
    """Cancel what runs and wait for its end, for some seconds; returns how many jobs there were.

    Otherwise jobs whose steps are gone would count as running, and be charged, after the next
    start. A cluster that does not answer has nothing to cancel.
    """
    list_argv = ["squeue", "-h", "-r", "-t", "RUNNING,SUSPENDED,COMPLETING", "-o", "%i"]
    job_ids = run_command(list_argv, env, 30).stdout.split()
    if not job_ids:
        return 0
    run_command(["scancel", *job_ids], env, 30)
    deadline = time.monotonic() + CANCEL_SECONDS
    while time.monotonic() < deadline and run_command(list_argv, env, 30).stdout.split():
        time.sleep(POLL_SECONDS * 2)
    return len(job_ids)


def is_port_listening(port: int) -> bool:
    """Whether a socket of 127.0.0.1 or of all addresses listens on the port (proc(5), net/tcp).

    Looking does not disturb: Slurm's daemons log an error for each connection without a message.
    """
    rows = (line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:])
    listening = {row[1] for row in rows if row[3] == "0A"}
    return bool(listening & {f"{address}:{port:04X}" for address in ("0100007F", "00000000")})


def is_socket_listening(path: Path) -> bool:
    """Whether a Unix socket of this path listens (the flag __SO_ACCEPTCON in net/unix)."""
    rows = (line.split(maxsplit=7) for line in Path("/proc/net/unix").read_text().splitlines()[1:])
    return any(row[3] == "00010000" and row[7:] == [str(path)] for row in rows)


def is_database_answering(port: int) -> bool:
    """Whether MariaDB greets: it does so only once its start SQL has run."""
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1) as client:
        client.settimeout(1)
        greeting = client.recv(5)
        # Three bytes of length, a sequence number, then protocol version 10.
        return len(greeting) == 5 and greeting[4] == 10
    return False
