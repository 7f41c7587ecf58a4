"""A lease is held by one worker, until it gives it back or its time is up."""

import time
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from portal.common.leases import hold_lease
from portal.common.models import Lease


@pytest.mark.django_db
def test_one_holder_at_a_time_and_the_next_after_it_is_given_back() -> None:
    with (
        hold_lease("work", seconds=60) as first,
        hold_lease("work", seconds=60) as second,
        hold_lease("other", seconds=60) as other,
    ):
        assert (first, second, other) == (True, False, True)
    with hold_lease("work", seconds=60) as third:
        assert third


@pytest.mark.django_db
def test_one_that_fails_gives_it_back() -> None:
    with pytest.raises(ValueError, match="broken"), hold_lease("work", seconds=60):
        raise ValueError("broken")
    with hold_lease("work", seconds=60) as is_ours:
        assert is_ours


@pytest.mark.django_db(transaction=True)
def test_one_that_takes_too_long_loses_it_and_does_not_take_it_from_the_next() -> None:
    with hold_lease("work", seconds=1) as slow:
        time.sleep(1.1)
        with hold_lease("work", seconds=60) as next_one:
            assert slow
            assert next_one
            Lease.objects.filter(holder="").delete()
            holder = Lease.objects.get().holder
    assert holder


@pytest.mark.django_db
@pytest.mark.parametrize("hours", [-24, 24])
def test_a_worker_whose_clock_is_wrong_neither_takes_nor_blocks_it(hours: int) -> None:
    wrong = timezone.now() + timedelta(hours=hours)
    with (
        hold_lease("work", seconds=60),
        time_machine.travel(wrong),
        hold_lease("work", seconds=60) as second,
    ):
        assert not second
    with time_machine.travel(wrong), hold_lease("work", seconds=60) as is_ours:
        assert is_ours
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with hold_lease("work", seconds=60) as is_ours:
        assert is_ours
