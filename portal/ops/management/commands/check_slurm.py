"""The preflight: looks for settings of Slurm without which limits silently do nothing."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from portal.common.errors import PortalError
from portal.inventory.models import Cluster
from portal.inventory.selectors import get_cluster, list_active_clusters, list_pools
from portal.inventory.services import open_cluster_gateway
from portal.ops.preflight import Finding, Level, PoolSettings, check_cluster
from portal.reconcile.policy import POLICY_FILE, SCRIPT_FILE
from portal.slurm.errors import SlurmError


class Command(BaseCommand):
    help = (
        "Checks each cluster's Slurm settings: names each wrong one, what silently breaks, and the "
        "line to write. Ends with 1 on an error."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", metavar="NAME", help="this cluster alone")

    def handle(self, *args: Any, **options: Any) -> None:
        has_error = False
        try:
            name = options["cluster"]
            for cluster in [get_cluster(name)] if name else list_active_clusters():
                self.stdout.write(f"{cluster.name}:")
                for finding in _check(cluster):
                    self._print(finding)
                    has_error = has_error or finding.level is Level.ERROR
        except PortalError as error:
            raise CommandError(error.message) from error
        except SlurmError as error:
            raise CommandError(f"Slurm: {error}") from error
        if has_error:
            sys.exit(1)

    def _print(self, finding: Finding) -> None:
        self.stdout.write(f"  {finding.level:<8} {finding.setting}: {finding.found}")
        if finding.level is not Level.OK:
            self.stdout.write(f"           {finding.breaks}")
            self.stdout.write(f"           write: {finding.line}")


def _check(cluster: Cluster) -> tuple[Finding, ...]:
    gateway = open_cluster_gateway(cluster)
    pools = [
        PoolSettings(pool.code, pool.gres_type, pool.partition, pool.spot_partition)
        for pool in list_pools(cluster)
    ]
    findings = check_cluster(
        cluster.name, gateway.get_cluster(), gateway.list_nodes(), gateway.list_partitions(), pools
    )
    return (*findings, *_check_policy(cluster))


def _check_policy(cluster: Cluster) -> tuple[Finding, ...]:
    if not cluster.policy_dir:
        return ()
    missing = [
        name
        for name in (SCRIPT_FILE, POLICY_FILE)
        if not (Path(cluster.policy_dir) / name).exists()
    ]
    if not missing:
        return (Finding(Level.OK, "policy of job_submit", cluster.policy_dir),)
    breaks = "The plugin has no policy and lets every job pass under Slurm's own limits."
    line = f"manage.py reconcile --cluster {cluster.name}, and put {SCRIPT_FILE} beside slurm.conf"
    found = f"{', '.join(missing)} missing in {cluster.policy_dir}"
    return (Finding(Level.ERROR, "policy of job_submit", found, breaks, line),)
