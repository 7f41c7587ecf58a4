"""Run as a script: stops and starts single services of a sandbox, as a site does by systemctl.

python sandbox_node.py ROOT INVENTORY stop|start|restart SERVICE
"""

import sys
from pathlib import Path

from gres_config.load import load_inventory
from portal.sandbox import daemons
from portal.sandbox.cluster import Sandbox
from portal.sandbox.processes import Service
from portal.sandbox.spec import SandboxSpec


def find_service(root: Path, inventory: Path, name: str) -> Service:
    spec = SandboxSpec(inventory=load_inventory(inventory))
    sandbox = Sandbox(root, spec)
    services = daemons.make_services(
        sandbox.paths, spec, sandbox.state.ports, on_loopback=daemons.can_enter_localhost()
    )
    return next(service for service in services if service.name == name)


def main(root: str, inventory: str, verb: str, name: str) -> int:
    service = find_service(Path(root), Path(inventory), name)
    if verb in ("stop", "restart"):
        service.stop()
    if verb in ("start", "restart"):
        offset = service.get_log_size()
        service.start()
        service.wait_ready(30, offset)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
