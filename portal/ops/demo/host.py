"""status, stop and clean: what the demo left on the machine, seen, ended and taken away."""

import shutil

from portal.ops.demo.console import Console, DemoError
from portal.ops.demo.layout import BASE_DIR, DemoLayout
from portal.ops.demo.lock import hold_lock
from portal.ops.demo.services import (
    list_statuses,
    open_sandbox,
    render_up_since,
    stop_services,
)
from portal.sandbox.cluster import Sandbox
from portal.sandbox.processes import ServiceState
from portal.sandbox.spec import SandboxSpec
from portal.sandbox.state import load_state

_OTHER_TREES = ("portal", "accounting", ".git", "manage.py", "pyproject.toml")


def run(command: str, layout: DemoLayout, console: Console) -> int:
    """Do status, stop or clean; return the exit code."""
    if command == "status":
        return print_status(layout)
    existed = layout.var.exists()
    with hold_lock(layout.lock_file, f"make {command}"):
        if command == "clean":
            clean(layout, console)
        else:
            stop(layout, console)
            if not existed:
                forget(layout, console)
    return 0


def print_status(layout: DemoLayout) -> int:
    """Print each service with PID, state and start, then the URL; 1 unless all run."""
    statuses = list_statuses(layout)
    print(f"{'service':<12} {'state':<10} {'pid':<8} {'up since':<20} log")
    for status in statuses:
        since = render_up_since(status.pid)
        print(
            f"{status.name:<12} {status.state:<10} {status.pid or '-':<8} {since:<20} "
            f"{status.log_path}"
        )
    down = [status.name for status in statuses if status.state is not ServiceState.RUNNING]
    if not down:
        print(f"\nAll run. The portal: {layout.url}  (logins: {layout.logins_file})")
        return 0
    if len(down) == len(statuses):
        print("\nNothing runs. next: make demo")
    else:
        print(f"\nNot running: {', '.join(down)}. next: read the log, or run make demo again")
    return 1


def stop(layout: DemoLayout, console: Console) -> None:
    """End the portal's programs and the sandbox; data and users stay."""
    with console.step("Web server and task worker") as step:
        step.check(_render_stopped(stop_services(layout)))
    with console.step("Sandbox") as step:
        lines: list[str] = []
        open_sandbox(layout).down(lines.append)
        names = [line.removeprefix("Stopped ") for line in lines]
        step.check(_render_stopped(tuple(names)))


def clean(layout: DemoLayout, console: Console) -> None:
    """End everything, then remove the Unix users and the folders."""
    _check_removable(layout)
    with console.step("Web server and task worker") as step:
        step.check(_render_stopped(stop_services(layout)))
    with console.step("Sandbox, its Unix users and folders") as step:
        lines: list[str] = []
        for sandbox in (open_sandbox(layout), *_list_inner_sandboxes(layout)):
            sandbox.destroy(lines.append)
        step.check(f"{len([line for line in lines if 'Unix user' in line])} users removed")
    with console.step(f"Folder {layout.var}") as step:
        forget(layout, console)
        step.check("removed")


def forget(layout: DemoLayout, console: Console) -> None:
    """Remove the var folder, the log in it too."""
    console.is_logging = False
    shutil.rmtree(layout.var)


def _list_inner_sandboxes(layout: DemoLayout) -> list[Sandbox]:
    """Return sandboxes that a killed test run left in a folder of var; stops their demos."""
    found = []
    for state_file in (*layout.var.glob("*/sandbox.json"), *layout.var.glob("*/*/sandbox.json")):
        root = state_file.parent
        if root == layout.sandbox_root:
            continue
        stop_services(DemoLayout(root.parent, layout.user_prefix))
        users = load_state(state_file).users
        prefix = f"{users[0].rpartition('-')[0]}-" if users else layout.user_prefix
        found.append(Sandbox(root, SandboxSpec(user_prefix=prefix)))
    return found


def _check_removable(layout: DemoLayout) -> None:
    """Refuse to remove a folder that holds more than a demo: the project, a home, the root."""
    var = layout.var
    if var in (BASE_DIR, *BASE_DIR.parents) or any((var / name).exists() for name in _OTHER_TREES):
        raise DemoError(
            f"{var} is more than the folder of a demo; it stays",
            next_step="set SLUICEWAY_VAR_DIR to the demo's own folder",
        )


def _render_stopped(names: tuple[str, ...]) -> str:
    return f"stopped {', '.join(names)}" if names else "nothing ran"
