"""Keeps rows that cannot be read until they can be, or until someone deals with them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from accounting.records import JobRecord, RejectedRow
from portal.inventory.models import Cluster
from portal.usage.merging import hash_line, is_cluster_name
from portal.usage.models import MAX_REASON, QuarantinedRow


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row for the quarantine, with DELIMITER between its fields."""

    line: bytes
    reason: str


def find_key(row: JobRecord | RejectedRow, line: bytes, cluster: Cluster) -> str:
    """Return what names the row: its DBIndex on this cluster, else the hash of its line."""
    if row.db_index and is_cluster_name(row.cluster, cluster.name):
        return row.db_index
    return hash_line(line)


def store_unreadable(cluster: Cluster, rows: Mapping[str, UnreadableRow], now: datetime) -> None:
    """Store rows by key, the newest line of each; the caller holds the cluster's lock.

    One that somebody has dealt with comes back when it says something else than it did, one that
    was read meanwhile in any case.
    """
    if not rows:
        return
    known = {
        key: (bytes(line), seen_at)
        for key, line, seen_at in QuarantinedRow.objects.filter(
            cluster=cluster, key__in=list(rows)
        ).values_list("key", "line", "last_seen_at")
    }
    newer = [key for key in rows if key not in known or known[key][1] <= now]
    QuarantinedRow.objects.bulk_create(
        [
            QuarantinedRow(
                cluster=cluster,
                key=key,
                line=rows[key].line,
                reason=rows[key].reason[:MAX_REASON],
                first_seen_at=now,
                last_seen_at=now,
            )
            for key in newer
        ],
        update_conflicts=True,
        unique_fields=["cluster", "key"],
        update_fields=["line", "reason", "last_seen_at"],
    )
    changed = [key for key in newer if key in known and known[key][0] != rows[key].line]
    QuarantinedRow.objects.filter(
        Q(key__in=changed) | Q(key__in=newer, resolved_by=""),
        cluster=cluster,
        resolved_at__isnull=False,
    ).update(resolved_at=None, resolved_by="")


def load_open_keys(cluster: Cluster) -> frozenset[str]:
    """Return the keys of the cluster's rows that wait in quarantine."""
    rows = QuarantinedRow.objects.filter(cluster=cluster, resolved_at__isnull=True)
    return frozenset(rows.values_list("key", flat=True))


def resolve_readable(cluster: Cluster, keys: Collection[str], now: datetime) -> None:
    """Take rows out of the quarantine whose jobs were read after all."""
    if keys:
        QuarantinedRow.objects.filter(
            cluster=cluster, key__in=list(keys), resolved_at__isnull=True
        ).update(resolved_at=now)
