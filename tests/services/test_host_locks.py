"""Host locks: one holder at a time, by the database's clock; the dead free theirs by expiry."""

import pytest
from django.db import connection

from engine.db.host_locks import LockHeld, LockLost, acquire, holder_of, host_lock
from engine.models import HostLock

pytestmark = pytest.mark.django_db


def expire(name: str) -> None:
    """Let a lock's time be over."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wf_host_locks SET expires_at = clock_timestamp() WHERE name = %s", [name])


def test_a_lock_has_one_holder() -> None:
    first = acquire("job", seconds=3600)
    assert first is not None
    assert acquire("job", seconds=3600) is None
    assert acquire("another job", seconds=3600) is not None
    assert holder_of("job") == first.holder


def test_who_died_frees_the_lock_by_its_expiry() -> None:
    dead = acquire("job", seconds=3600)
    assert dead is not None
    expire("job")
    assert holder_of("job") is None
    next_one = acquire("job", seconds=3600)
    assert next_one is not None
    with pytest.raises(LockLost):
        dead.renew()
    dead.release()
    assert holder_of("job") == next_one.holder


def test_renewing_holds_it_longer() -> None:
    lock = acquire("job", seconds=3600)
    assert lock is not None
    before = HostLock.objects.get().expires_at
    lock.renew()
    assert HostLock.objects.get().expires_at > before


def test_the_block_gives_it_back_whatever_happens() -> None:
    with pytest.raises(ZeroDivisionError), host_lock("job"):
        raise ZeroDivisionError
    assert holder_of("job") is None


def test_a_second_block_is_told_who_holds_it() -> None:
    with host_lock("job") as lock, pytest.raises(LockHeld) as held, host_lock("job"):
        pass
    assert held.value.facts["holder"] == lock.holder
