"""Takes in a cluster's accounting: from Slurm, or from a file that sacct wrote."""

import json
import sys
from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounting.records import RecordFormatError
from portal.common.errors import PortalError
from portal.inventory.models import Cluster
from portal.inventory.services import open_cluster_gateway
from portal.slurm.errors import SlurmError
from portal.usage.models import ImportRun
from portal.usage.selectors import summarise_run
from portal.usage.services import import_file, ingest_cluster


class Command(BaseCommand):
    help = (
        "Takes in a cluster's jobs and prints what was read as JSON. It can be run again at any "
        "time: what is known already is counted as the same."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", required=True, metavar="NAME", help="Slurm's ClusterName")
        parser.add_argument(
            "--from-file",
            metavar="F",
            help="what `TZ=UTC sacct -a -X -D -P --noconvert` printed, with its header; "
            "- for standard input. Without it, Slurm is asked",
        )
        parser.add_argument(
            "--delimiter", help="what stands between the file's columns; read from its header"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = Cluster.objects.filter(name=options["cluster"]).first()
        if cluster is None:
            names = ", ".join(Cluster.objects.order_by("name").values_list("name", flat=True))
            raise CommandError(
                f"No cluster is called {options['cluster']!r}. There are: {names or 'none'}."
            )
        try:
            run = self._import(cluster, options["from_file"], options["delimiter"])
        except OSError as error:
            raise CommandError(f"{options['from_file']} cannot be read: {error}.") from error
        except (RecordFormatError, SlurmError, PortalError) as error:
            raise CommandError(f"Nothing more was taken in: {error}.") from error
        self.stdout.write(json.dumps(summarise_run(run)))
        if run.error:
            raise CommandError(f"The accounting was not read to its end: {run.error}.")

    def _import(self, cluster: Cluster, file_name: str | None, delimiter: str | None) -> ImportRun:
        now = timezone.now()
        if file_name is None:
            return ingest_cluster(cluster, open_cluster_gateway(cluster), now)
        with _open(file_name) as stream:
            return import_file(cluster, stream, now, delimiter=delimiter)


def _open(file_name: str) -> "nullcontext[IO[bytes]] | IO[bytes]":
    return nullcontext(sys.stdin.buffer) if file_name == "-" else Path(file_name).open("rb")
