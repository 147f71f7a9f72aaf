"""Run instances again from their audit and compare the whole snapshot with the stored one."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from engine.models import Instance, RuntimeState
from engine.runtime.replay import replay


def unlike_when_replayed(instances: Iterable[Instance] | None = None) -> dict[str, Any]:
    """Return where a replay differs from what is stored: by instance, what each says under the keys that differ."""
    begun = RuntimeState.objects.exclude(snapshot={}).select_related(
        "instance__template", "instance__version", "instance__tenant"
    )
    if instances is not None:
        begun = begun.filter(instance__in=list(instances))
    found = ((str(runtime.instance), replay(runtime.instance), runtime.snapshot) for runtime in begun)
    return {name: _differing(again or {}, stored) for name, again, stored in found if again != stored}


def _differing(again: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    keys = again.keys() | stored.keys()
    return {key: (again.get(key), stored.get(key)) for key in keys if again.get(key) != stored.get(key)}


@pytest.fixture
def replayed(db: None) -> Iterator[None]:
    """Let every instance of a test be run again from its audit when the test is over."""
    yield
    assert unlike_when_replayed() == {}
