"""The portal's two programs in the background, gunicorn and django-q2, and all of the demo's."""

import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

from portal.ops.demo.layout import BASE_DIR, DEFAULT_PORT, DemoLayout
from portal.ops.demo.venv import VENV_PYTHON
from portal.sandbox.cluster import Sandbox
from portal.sandbox.processes import (
    MARKER,
    Service,
    ServiceStatus,
    end_processes,
    get_process_id,
    list_pids,
    read_environment,
)
from portal.sandbox.spec import SandboxSpec
from portal.sandbox.state import is_port_free

WEB_WORKERS = 2
_LAST_PORT = 8099


def open_sandbox(layout: DemoLayout) -> Sandbox:
    """Return the demo's sandbox, running or not."""
    spec = SandboxSpec(user_prefix=layout.user_prefix, users=layout.users)
    return Sandbox(layout.sandbox_root, spec, layout.logs)


def make_services(layout: DemoLayout) -> tuple[Service, Service]:
    """Return the web server and the task worker."""
    port = layout.read_state().get("port", DEFAULT_PORT)
    web = [
        str(VENV_PYTHON), "-m", "gunicorn", "portal.config.wsgi",
        "--bind", f"127.0.0.1:{port}", "--workers", str(WEB_WORKERS), "--timeout", "60",
        "--access-logfile", str(layout.logs / "access.log"), "--no-control-socket",
    ]  # fmt: skip
    worker = [str(VENV_PYTHON), str(BASE_DIR / "manage.py"), "qcluster"]
    return (
        _make_service(layout, "gunicorn", web),
        _make_service(layout, "qcluster", worker),
    )


def _make_service(layout: DemoLayout, name: str, argv: list[str]) -> Service:
    service = Service(
        name=name,
        argv=argv,
        env=layout.make_environment(),
        cwd=BASE_DIR,
        log_path=layout.logs / f"{name}.log",
        pid_path=layout.pids / f"{name}.json",
        is_ready=lambda: is_answering(layout.url) if name == "gunicorn" else _has_workers(service),
    )
    return service


def is_answering(url: str) -> bool:
    """Whether the portal's login page comes from this address."""
    with suppress(OSError, urllib.error.URLError, ValueError):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url}/login/", timeout=5) as answer:
            return bool(answer.status == 200)
    return False


def _has_workers(service: Service) -> bool:
    """Whether the task worker has forked its processes: sentinel, monitor, pusher, workers."""
    return len(_list_marked(service.pid_path)) >= 4


def _list_marked(pid_path: Path) -> list[int]:
    return [pid for pid in list_pids() if read_environment(pid).get(MARKER) == str(pid_path)]


def stop_services(layout: DemoLayout) -> tuple[str, ...]:
    """Stop both programs, and children that outlived a killed parent; return what ran."""
    stopped = []
    for service in reversed(make_services(layout)):
        has_run = service.stop()
        found = (get_process_id(pid) for pid in _list_marked(service.pid_path))
        orphans = [process for process in found if process is not None]
        if orphans:
            end_processes(orphans, timeout_seconds=5)
        if has_run or orphans:
            stopped.append(service.name)
    return tuple(stopped)


def choose_port(layout: DemoLayout) -> tuple[int, str]:
    """Remember a free port and return it, with a sentence where it is not the usual one.

    Asked while this demo's own web server is stopped: the port of the last run comes first.
    """
    last = layout.read_state().get("port", DEFAULT_PORT)
    for port in (last, DEFAULT_PORT, *range(DEFAULT_PORT + 1, _LAST_PORT)):
        if is_port_free(port):
            layout.save_state(port=port)
            taken = f"port {DEFAULT_PORT} is taken by another program, so port {port} is used"
            return port, "" if port == DEFAULT_PORT else taken
    raise OSError(f"no free port of 127.0.0.1 from {DEFAULT_PORT} to {_LAST_PORT}")


def list_statuses(layout: DemoLayout) -> tuple[ServiceStatus, ...]:
    """Return the state of every service, the sandbox's first."""
    own = tuple(service.get_status() for service in make_services(layout))
    return (*open_sandbox(layout).status(), *own)


def render_up_since(pid: int | None) -> str:
    """Return "2026-01-31 09:00:00", when the process began by the machine's clock, "-" for none."""
    process = get_process_id(pid) if pid is not None else None
    if process is None:
        return "-"
    ticks_per_second = 100  # USER_HZ, proc(5): the same on every Linux architecture of Debian
    uptime = float(Path("/proc/uptime").read_text("ascii").split()[0])
    began = time.time() - uptime + process.start_ticks / ticks_per_second
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began))
