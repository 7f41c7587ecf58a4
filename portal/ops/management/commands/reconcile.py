"""Makes clusters as the portal wants them, shows what that would change, or checks for drift."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from portal.common.errors import PortalError
from portal.inventory.models import Cluster
from portal.inventory.selectors import get_cluster, list_active_clusters
from portal.inventory.services import open_cluster_gateway
from portal.ops.ticks import make_used_reader
from portal.reconcile.models import ReconcileRun
from portal.reconcile.services import plan_cluster, reconcile_cluster
from portal.reconcile.state import Plan
from portal.reconcile.wording import tell_plan
from portal.slurm.errors import SlurmError

Outcome = ReconcileRun.Outcome


class Command(BaseCommand):
    help = (
        "Makes accounts, associations, QOS and the job_submit policy of the active clusters as the "
        "portal wants them. Ends with 1 if a cluster is not in force afterwards."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", metavar="NAME", help="this cluster alone")
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--dry-run", action="store_true", help="print the plan, change nothing")
        mode.add_argument(
            "--check", action="store_true", help="end with 1 on drift, be silent on none"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument(
            "--allow-removals",
            action="store_true",
            help="lift the guard against mass deletion, for this run",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        is_plan = options["dry_run"] or options["check"]
        try:
            name = options["cluster"]
            clusters = [get_cluster(name)] if name else list(list_active_clusters())
            if is_plan:
                is_good = self._show_plans(clusters, options)
            else:
                is_good = self._run(clusters, options)
        except PortalError as error:
            raise CommandError(error.message) from error
        except SlurmError as error:
            raise CommandError(f"Slurm: {error}") from error
        if not is_good:
            sys.exit(1)

    def _show_plans(self, clusters: list[Cluster], options: dict[str, Any]) -> bool:
        plans: dict[str, Plan] = {}
        for cluster in clusters:
            gateway = open_cluster_gateway(cluster)
            plans[cluster.name] = plan_cluster(
                cluster, gateway, timezone.now(), allow_removals=options["allow_removals"]
            )
        has_drift = any(plan.has_drift for plan in plans.values())
        if options["json"] and (has_drift or not options["check"]):
            self._print_json({name: _to_json(plan) for name, plan in plans.items()})
        elif not options["json"]:
            for name, plan in plans.items():
                if plan.has_drift or not options["check"]:
                    self._print_plan(name, plan)
        return not (options["check"] and has_drift)

    def _print_plan(self, name: str, plan: Plan) -> None:
        self.stdout.write(f"{name}: {len(plan.changes)} to change, {len(plan.in_force)} in force")
        for title, sentences in (
            ("would do", [change.sentence for change in plan.changes]),
            ("waits", [change.sentence for change in plan.deferred]),
            ("blocked", [change.sentence for change in plan.blocked]),
            ("note", plan.notes),
        ):
            for sentence in sentences:
                self.stdout.write(f"  {title}: {sentence}")

    def _run(self, clusters: list[Cluster], options: dict[str, Any]) -> bool:
        is_good = True
        told: dict[str, Any] = {}
        for cluster in clusters:
            run = reconcile_cluster(
                cluster,
                open_cluster_gateway(cluster),
                timezone.now(),
                read_used=make_used_reader(cluster),
                allow_removals=options["allow_removals"],
            )
            if run is None:
                raise CommandError(f"Another worker is at {cluster.name}: try again in a moment.")
            is_good = is_good and run.outcome in (Outcome.IN_FORCE, Outcome.CHANGED)
            told[cluster.name] = {
                "outcome": run.outcome,
                "error": run.error,
                "changes": run.changes,
            }
            if not options["json"]:
                self._print_run(cluster, run)
        if options["json"]:
            self._print_json(told)
        return is_good

    def _print_run(self, cluster: Cluster, run: ReconcileRun) -> None:
        self.stdout.write(f"{cluster.name}: {run.get_outcome_display()}")
        for change in run.changes:
            self.stdout.write(f"  {change['action']}: {change['sentence']}")
        for line in run.error.splitlines():
            self.stdout.write(f"  error: {line}")

    def _print_json(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, indent=2, sort_keys=True))


def _to_json(plan: Plan) -> dict[str, Any]:
    return {
        "has_drift": plan.has_drift,
        "changes": tell_plan(plan),
        "notes": list(plan.notes),
        "in_force": len(plan.in_force),
    }
