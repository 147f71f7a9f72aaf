"""The rights that deploy/valkey.conf gives are enough for all that the platform does, and for nothing else."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django_rq
import pytest
import redis
from django.test import Client
from django.urls import reverse
from rq.queue import Queue
from rq.serializers import JSONSerializer

from engine.dispatch import rq
from engine.dispatch.rq import QUEUE, make_worker
from engine.dispatch.rq_status import look_at_workers
from engine.services.health import count_workers
from engine.streaming.wake_up import WakeUp
from tests.cast import Cast
from tests.dispatch.test_runaway import eventually
from tests.workers import ROOT
from tests.workflows import CALL, activated, started
from workflowplatform.servers.valkey import find_program

pytestmark = pytest.mark.security("Redis is not trusted")
NAME, PASSWORD = "workflow", "only-for-tests"


def rights() -> list[str]:
    """Read the user's line of the shipped file."""
    line = re.search(rf"^user {NAME} (.*)$", (ROOT / "deploy/valkey.conf").read_text(), re.MULTILINE)
    assert line
    return line[1].replace("REPLACE-THIS-PASSWORD", PASSWORD).split()


@pytest.fixture
def walled(transactional: None, valkey: redis.Redis, settings: Any) -> Iterator[redis.Redis]:
    """Let the platform in as the shipped user; give the administrator's connection to look on."""
    valkey.execute_command("ACL", "SETUSER", NAME, "reset", *rights())
    valkey.execute_command("ACL", "LOG", "RESET")
    settings.WORKFLOW_REDIS_PREFIX = ""  # tests side by side have one, a deployment has none
    settings.WORKFLOW_DISPATCHER = "rq"
    settings.REDIS_URL = settings.REDIS_URL.replace("unix://", f"unix://{NAME}:{PASSWORD}@", 1)
    settings.RQ_QUEUES = {QUEUE: {**settings.RQ_QUEUES[QUEUE], "URL": settings.REDIS_URL}}
    settings.WORKFLOW_TOKEN_REQUESTS = settings.WORKFLOW_TENANT_REQUESTS = 1000
    yield valkey
    valkey.execute_command("ACL", "DELUSER", NAME)


def refused(valkey: redis.Redis) -> list[tuple[str, str]]:
    """Return what the server refused: the reason and the command or key."""
    return [(entry["reason"], entry["object"]) for entry in valkey.acl_log()]


def test_the_shipped_rights_are_enough_for_a_worker_wake_ups_bells_and_figures(cast: Cast, walled: redis.Redis) -> None:
    activated(cast.actor("gwen"), CALL)
    instance = started(cast.actor("ada"), "call", word="x")
    rq.dispatcher.wake()
    assert Queue(QUEUE, connection=django_rq.get_connection(QUEUE), serializer=JSONSerializer).count == 1
    make_worker("walled").work(burst=True)
    instance.refresh_from_db()
    assert instance.status == "completed"
    assert not refused(walled)


def test_wake_ups_are_heard_and_workers_counted(cast: Cast, walled: redis.Redis) -> None:
    worker = make_worker("walled")
    worker.register_birth()
    try:
        assert count_workers() == 1
        assert [seen.name for seen in look_at_workers().workers] == ["walled"]
    finally:
        worker.register_death()
    with WakeUp() as wake_up:
        wake_up.wait(0.05)
        rq.dispatcher._told_until = 0.0
        rq.dispatcher.wake_streams()
        wake_up.wait(1)
    assert not refused(walled)


def test_requests_are_counted_and_the_pages_of_queues_answer(cast: Cast, walled: redis.Redis, client: Client) -> None:
    client.force_login(cast.zoe)
    assert client.get("/api/v1/templates/").status_code == 200
    assert walled.keys("*wf:asked:tenant:*")
    pages = [reverse("admin:engine_workers"), reverse("django_rq:home")]
    assert [client.get(page, follow=True).status_code for page in pages] == [200, 200]
    assert not refused(walled)


@pytest.mark.parametrize(
    "words",
    [
        ("CONFIG", "GET", "*"),
        ("CONFIG", "SET", "dir", "/tmp"),
        ("FLUSHALL",),
        ("KEYS", "*"),
        ("EVAL", "return 1", "0"),
        ("FUNCTION", "LIST"),
        ("MODULE", "LIST"),
        ("SAVE",),
        ("REPLICAOF", "NO", "ONE"),
        ("ACL", "LIST"),
        ("GET", "somebody-elses-key"),
        ("PUBLISH", "somebody-elses-channel", ""),
    ],
)
def test_nothing_else_is_allowed(walled: redis.Redis, settings: Any, words: tuple[str, ...]) -> None:
    with redis.Redis.from_url(settings.REDIS_URL) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*words)


def test_a_server_starts_with_the_shipped_file_and_knows_the_default_user_no_more(tmp_path: Path) -> None:
    socket = Path(tempfile.mkdtemp(prefix="wf-")) / "s"  # the path of a socket must be short
    words = [str(find_program()), str(ROOT / "deploy/valkey.conf"), "--port", "0", "--unixsocket", str(socket)]
    server = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        assert eventually(socket.exists)
        with redis.Redis.from_url(f"unix://{NAME}:REPLACE-THIS-PASSWORD@{socket}") as client:
            assert client.ping()
        with redis.Redis(unix_socket_path=str(socket)) as nobody, pytest.raises(redis.exceptions.AuthenticationError):
            nobody.ping()
    finally:
        server.terminate()
        server.wait(10)
        shutil.rmtree(socket.parent)
