"""Who pays for a job and as what: accounts become projects, QOS and partitions offerings."""

from datetime import date

from portal.allocations.inputs import LineInput
from portal.audit.models import AuditEvent
from portal.projects.models import Project
from portal.usage.models import Job, UsageRecord
from tests.integration.factories import World, make_offering, make_project
from tests.integration.usage.sacct import (
    import_rows,
    make_row,
    make_running,
    sum_seconds,
)

NOVEMBER = date(2026, 11, 1)


def test_an_unknown_account_goes_to_suspense_until_a_project_owns_it(world: World) -> None:
    import_rows(world.cluster, [make_row(Account="p2002"), make_row(Account="p3003")])
    suspense = Project.objects.get(is_suspense=True)
    assert set(Job.objects.values_list("project", flat=True)) == {suspense.pk}
    assert sum_seconds(project=suspense) == 7200
    owner = make_project("p2002")
    import_rows(world.cluster, [])
    assert sum_seconds(project=owner) == sum_seconds(project=suspense) == 3600
    assert Job.objects.get(account="p2002").project == owner
    assert AuditEvent.objects.filter(action="assign_usage", project_code="p2002").count() == 1


def test_slurm_accounts_are_matched_whatever_their_case(world: World) -> None:
    import_rows(world.cluster, [make_row(Account="P1001"), make_row(Account="P2002")])
    assert not AuditEvent.objects.filter(action="assign_usage").exists()
    assert UsageRecord.objects.filter(project=world.project).count() == 1
    later = make_project("p2002")
    import_rows(world.cluster, [])
    assert UsageRecord.objects.filter(project=later).count() == 1


def test_an_open_job_follows_its_account(world: World) -> None:
    other = make_project("p2002")
    row = make_row(ElapsedRaw=7200)
    import_rows(world.cluster, [make_running(row, 60)])
    import_rows(world.cluster, [row | {"Account": "p2002"}])
    assert Job.objects.get().project == UsageRecord.objects.get().project == other


def test_only_a_job_that_has_not_started_follows_its_account_out_of_the_projects(
    world: World,
) -> None:
    row = make_row()
    waiting = row | {"State": "PENDING", "Start": "Unknown", "End": "Unknown"}
    waiting |= {"ElapsedRaw": "0", "AllocTRES": ""}
    import_rows(world.cluster, [waiting])
    import_rows(world.cluster, [make_running(row, 60) | {"Account": "lab"}])
    record = UsageRecord.objects.get()
    assert (record.project.is_suspense, record.job.account) == (True, "lab")
    second = make_row()
    import_rows(world.cluster, [make_running(second, 60)])
    import_rows(world.cluster, [second | {"Account": "lab"}])
    assert Job.objects.get(db_index=second["DBIndex"]).project == world.project


def test_the_qos_of_an_allocation_line_decides_the_offering(world: World) -> None:
    allocation = world.approve(world.submit())
    line = allocation.lines.get(offering=world.a100)
    world.a100_pool.offerings.update(is_active=False)
    newer = make_offering(pool=world.a100_pool)
    import_rows(
        world.cluster,
        [
            make_row(QOS=line.qos_name),
            make_row(QOS=line.qos_name, AllocTRES="cpu=1,gres/gpu=1"),
            make_row(QOS=line.qos_name, gres="1g.10gb"),
            make_row(),
            make_row(Partition="spot"),
            make_row(AllocTRES="cpu=1,gres/gpu=1"),
            make_row(Partition="other"),
        ],
    )
    found = UsageRecord.objects.order_by("job__db_index").values_list("offering", "purchase_option")
    assert list(found) == [
        (world.a100.pk, "on_demand"),
        (world.a100.pk, "on_demand"),
        (world.mig.pk, "on_demand"),
        (newer.pk, "on_demand"),
        (newer.pk, "spot"),
        (None, "on_demand"),
        (None, "on_demand"),
    ]


def test_usage_gets_its_offering_once_the_catalogue_has_one(world: World) -> None:
    world.a100.allocation_lines.all().delete()
    import_rows(world.cluster, [make_row(Partition="new", gres="h100")])
    assert UsageRecord.objects.get().offering is None
    pool = world.a100_pool
    pool.partition, pool.gres_type = "new", "h100"
    pool.save()
    import_rows(world.cluster, [])
    assert UsageRecord.objects.get().offering == world.a100


def test_a_pool_that_leaves_the_catalogue_takes_no_offering_from_its_jobs(world: World) -> None:
    row = make_row(Partition="spot")
    import_rows(world.cluster, [make_running(row, 60)])
    world.cluster.pools.filter(pk=world.a100_pool.pk).update(partition="x", spot_partition="")
    import_rows(world.cluster, [row])
    record = UsageRecord.objects.get()
    assert (record.offering, record.purchase_option) == (world.a100, "spot")
    assert record.unit_seconds == 3600


def test_shards_are_never_billed_as_whole_gpus(world: World) -> None:
    line = world.approve(world.submit()).lines.get(offering=world.a100)
    import_rows(world.cluster, [make_row(QOS=line.qos_name, AllocTRES="cpu=1,gres/shard=4")])
    record = UsageRecord.objects.get()
    assert (record.tres, record.unit_seconds, record.offering) == ("gres/shard", 14400, None)


def test_a_pools_usage_belongs_to_its_only_offering_even_if_that_is_retired(world: World) -> None:
    world.a100_pool.offerings.update(is_active=False)
    import_rows(world.cluster, [make_row()])
    assert UsageRecord.objects.get().offering == world.a100


def test_of_two_offerings_of_a_pool_none_is_guessed(world: World) -> None:
    make_offering(pool=world.a100_pool)
    import_rows(world.cluster, [make_row()])
    assert UsageRecord.objects.get().offering is None


def test_a_spot_qos_outside_the_preemptible_partition_is_charged_on_demand(world: World) -> None:
    lines = (LineInput(world.a100.pk, "spot", 4, 100),)
    qos = world.approve(world.submit(lines=lines)).lines.get().qos_name
    for partition in ("spot", "gpu"):
        import_rows(world.cluster, [make_row(QOS=qos, Partition=partition)])
    options = UsageRecord.objects.order_by("job__partition").values_list(
        "job__partition", "purchase_option"
    )
    assert list(options) == [("gpu", "on_demand"), ("spot", "spot")]
