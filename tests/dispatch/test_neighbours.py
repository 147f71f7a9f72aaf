import os
import pytest, time
from typing import Any
from engine.models import Instance
from tests import workers
from tests.cast import Cast
from tests.dispatch.runaways import *
from tests.workflows import activated, started

@pytest.mark.parametrize("kind", RUNAWAYS)
@pytest.mark.parametrize("command", ["rqworker", "worker"])
def test_explore(committed_cast: Cast, valkey: object, settings: Any, kind, command) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    gwen, sam = committed_cast.actor("gwen"), committed_cast.actor("sam")
    activated(sam, LISTENER)
    with workers.running(command) as worker:
        signal_seconds(sam, 5)
        quiet = signal_seconds(sam, 20)
        began = time.monotonic()
        let_loose(gwen, RUNAWAYS[kind])
        let = time.monotonic() - began
        time.sleep(1)
        loud = signal_seconds(sam, 20)
        children = []
        print(f"\nFIG {kind:12} {command:9} let {let:.1f}s quiet p50 {sorted(quiet)[10]*1000:.0f} p95 {p95(quiet)*1000:.0f} ms; loud p50 {sorted(loud)[10]*1000:.0f} p95 {p95(loud)*1000:.0f} ms max {max(loud)*1000:.0f}; rss {resident_mb(worker.pid):.0f} {[int(resident_mb(c)) for c in children]}",
          Instance.objects.filter(tenant=gwen.tenant_id).count(), set(Instance.objects.filter(tenant=gwen.tenant_id).values_list("status", flat=True)))
