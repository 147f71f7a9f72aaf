"""The stream over real HTTP: what is heard, by whom, how it continues after a cut, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from django.db import connection, transaction
from django.test import Client

from engine.audit.chain import Act, record
from engine.audit.cursor import BEGINNING, settled_position
from engine.models import Audit
from engine.services.people.accounts import change_level, grant_role
from engine.services.people.tokens import create_token, revoke_token
from engine.services.stream_events import Pass, heard_by, read_events
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.streaming.hub import read_for
from engine.streaming.listeners import MOST_WAITING, Listener
from tests.api.conftest import Caller, caller_of
from tests.api.test_following import Dawdler
from tests.cast import Cast
from tests.settling import settle
from tests.workers import ROOT, children_of, environment, stop
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.accounts.models import User

PATIENCE = 60.0
MOST = 3
MOST_IDLE = 4
"""Heartbeats without an event."""


class Stream:
    """An open stream, read line by line; it fails rather than to wait for ever."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def lines(self) -> Iterator[str]:
        """Yield the lines from where they were left."""
        idle = 0
        for line in self._lines:
            idle = 0 if line.startswith("data: ") else idle + line.startswith(": ")
            assert idle < MOST_IDLE, "nothing was heard for a long time"
            yield line

    def opened(self) -> str:
        """Wait for the first words; return the position that they give."""
        return next(line for line in self.lines() if line.startswith("id: ")).removeprefix("id: ")

    def events(self) -> Iterator[dict[str, Any]]:
        """Read events until the stream ends."""
        mark = ""
        for line in self.lines():
            name, _, value = line.partition(": ")
            mark = value if name == "id" else mark
            if name == "data":
                event = json.loads(value)
                assert event["id"] == mark
                yield event

    def ended(self) -> bool:
        """Read to the end; a stream that was torn rather than ended raises."""
        return list(self.lines())[-1] == ""

    def refusal(self) -> tuple[int, str]:
        """Return how the request was refused."""
        assert self.answer.status_code >= 400
        self.answer.read()
        assert self.answer.headers["content-type"] == "application/problem+json"
        return self.answer.status_code, self.answer.json()["code"]


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    root: str

    @contextmanager
    def listen(self, token: str = "", **headers: str) -> Iterator[Stream]:
        """Open a stream."""
        given = {"Authorization": f"Token {token}"} if token else {}
        with httpx.stream(
            "GET", self.root + "/api/v1/stream/", headers={**given, **headers}, timeout=PATIENCE
        ) as answer:
            yield Stream(answer)


@pytest.fixture(scope="module")
def server(django_db_setup: None, django_db_blocker: Any) -> Generator[Server, None, None]:
    """Serve the database of these tests; it stays while they come and go."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words = [sys.executable, "-m", "workflowplatform.servers.web", str(listener.fileno())]
        with django_db_blocker.unblock():
            given = environment(
                {
                    "WORKFLOW_STREAM_CHECK_SECONDS": "0.2",
                    "WORKFLOW_STREAMS_PER_PERSON": str(MOST),
                    "LOG_LEVEL": "WARNING",
                }
            )
        process = subprocess.Popen(words, cwd=ROOT, env=given, pass_fds=[listener.fileno()], start_new_session=True)
        try:
            root = f"http://127.0.0.1:{listener.getsockname()[1]}"
            assert httpx.get(root + "/api/v1/health/", timeout=PATIENCE).status_code == 200
            yield Server(process, root)
        finally:
            stop(process)


def token_of(person: User) -> str:
    return str(create_token(actor=None, person=person)[1])


def note(subject: Any, cast: Cast, word: str) -> None:
    with transaction.atomic():
        record(subject, Act(word), actor=cast.actor("gwen"))


# What is heard


def test_a_claim_is_heard_with_its_task_and_without_anything_written(committed_cast: Cast, server: Server) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    with server.listen(token_of(cast.adam)) as stream:
        assert stream.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.answer.headers["x-content-type-options"] == "nosniff"
        stream.opened()
        instance = started(cast.actor("uri"), "approval", amount=12)
        task = only_task(instance)
        claim_task(actor=cast.actor("ada"), task_id=task.pk)
        heard = {}
        for event in stream.events():
            heard[event["action"]] = event
            assert not {"old", "new", "values", "input"} & set(event)
            if event["action"] == "task_claimed":
                break
    claimed = heard["task_claimed"]
    assert (claimed["task"], claimed["instance"]) == (str(task.pk), str(instance.pk))
    assert (claimed["actor"], claimed["assignee"], claimed["step"]) == ("ada", "ada", "review")
    assert heard["task_created"]["task"] == str(task.pk)


def test_everybody_hears_what_they_may_see_and_nothing_else(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    User.objects.filter(pk=cast.adam.pk).update(level=3)
    lent = started(cast.actor("ada"), "approval", amount=5)
    mine = started(cast.actor("uri"), "approval", amount=7)
    settle()
    events, _ = read_events(cast.acme.pk, BEGINNING, settled_position(), 1000)
    assert {event.instance for event in events} >= {lent.pk, mine.pk}
    assert heard_by(cast.actor("ada"), events) == events
    by_uri = heard_by(cast.actor("uri"), events)
    assert {event.subject for event in by_uri} == {mine.pk}
    assert {event.action for event in by_uri} >= {"start_workflow", "task_created"}
    assert heard_by(cast.actor("adam"), events) == []
    assert read_events(cast.globex.pk, BEGINNING, settled_position(), 1000)[0]
    assert not {event.subject for event in events} & {
        event.subject for event in read_events(cast.globex.pk, BEGINNING, settled_position(), 1000)[0]
    }


def test_who_was_asked_hears_how_a_task_ended_and_who_was_not_does_not(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL.replace("roles: [finance]", "roles: [finance]\n      min_level: 2"))
    grant_role(actor=None, person=cast.gwen, role="finance")
    instance = started(cast.actor("adam"), "approval", amount=5)
    task = only_task(instance)
    User.objects.filter(username__in=["ada", "adam"]).update(level=3)
    complete_task(actor=cast.actor("gwen"), task_id=task.pk, outcome="approve", values={"note": "fine"})
    settle()
    events, _ = read_events(cast.acme.pk, BEGINNING, settled_position(), 1000)
    heard = heard_by(cast.actor("ada"), events)
    assert [event.action for event in heard] == ["task_created", "task_claimed", "task_completed"]
    assert {event.task for event in heard} == {task.pk}
    assert heard_by(cast.actor("uri"), events) == []


# Cut and resumed


class Writers:
    """Several people who write at once, some of them slowly."""

    def __init__(self, cast: Cast, each: int) -> None:
        people = [cast.gwen, cast.ada, cast.adam, cast.uri]
        self._threads = [Thread(target=self._write, args=(person, cast, each)) for person in people]
        for thread in self._threads:
            thread.start()

    def _write(self, person: User, cast: Cast, each: int) -> None:
        try:
            for number in range(each):
                with transaction.atomic():
                    record(person, Act("write", new={"number": number}), actor=cast.actor("gwen"))
                    if number % 5 == 0:
                        with connection.cursor() as cursor:
                            cursor.execute("SELECT pg_sleep(0.03)")
        finally:
            connection.close()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)


def test_a_stream_cut_again_and_again_loses_and_doubles_nothing(committed_cast: Cast, server: Server) -> None:
    cast, each = committed_cast, 40
    token = token_of(cast.ada)
    with server.listen(token) as stream:
        mark = stream.opened()
    writers = Writers(cast, each)
    heard: list[str] = []
    cut_after = iter([1, 7, 2, 30, 3, 500])
    while len(heard) < 4 * each:
        most = next(cut_after)
        with server.listen(token, **{"Last-Event-ID": mark}) as stream:
            for event in stream.events():
                if event["action"] == "write":
                    heard.append(event["id"])
                mark = event["id"]
                most -= 1
                if most == 0 or len(heard) >= 4 * each:
                    break
    writers.join()
    rows = Audit.objects.filter(action="write").order_by("xid", "pk")
    assert heard == [f"{row.xid}-{row.pk}" for row in rows]


def test_a_transaction_open_across_a_read_holds_the_stream_back(committed_cast: Cast, server: Server) -> None:
    """The transaction that wrote first and commits last is sent first: a stream that did not wait would send the other one."""
    cast = committed_cast
    with server.listen(token_of(cast.ada)) as stream:
        stream.opened()
        late = Dawdler(cast.uri, cast.actor("gwen"), "dawdled")
        note(cast.adam, cast, "hurried")
        time.sleep(1)  # sleep: far longer than a reader needs that is told of news
        late.commit()
        heard = [event["action"] for event in islice(stream.events(), 2)]
    assert heard == ["dawdled", "hurried"]


def test_a_slow_client_is_not_read_for_and_misses_nothing(committed_cast: Cast) -> None:
    cast = committed_cast
    settle()
    slow = Listener(cast.actor("ada"), Pass(token="t"), settled_position())
    quick = Listener(cast.actor("adam"), Pass(token="u"), slow.position)
    taken = []
    for number in range(MOST_WAITING + 3):
        note(cast.uri, cast, f"act_{number}")
        settle()
        read_for([slow, quick])
        taken.append(quick.take()[0])
    assert all(taken)
    assert not slow.has_room
    assert slow.position < quick.position
    waited = slow.take()[0]
    read_for([slow, quick])
    waited += slow.take()[0]
    assert waited == b"".join(taken)
    assert slow.position == quick.position


# Who may listen


def test_who_may_not_listen_is_refused_in_problem_json(committed_cast: Cast, server: Server) -> None:
    token = token_of(committed_cast.ada)
    for given in ("", "nonsense"):
        with server.listen(given) as stream:
            assert stream.refusal() == (401, "not_authenticated")
    for position in ("x", "1", "9223372036854775807-1"):
        with server.listen(token, **{"Last-Event-ID": position}) as stream:
            assert stream.refusal() == (400, "invalid")
    asked = httpx.get(server.root + "/api/v1/stream/?surprise=1", headers={"Authorization": f"Token {token}"})
    assert asked.status_code == 400


def test_without_asgi_the_stream_says_so(cast: Cast) -> None:
    answer = caller_of("ada").get("stream/")
    assert (answer.status_code, answer.json()["code"]) == (501, "asgi_only")
    assert Caller().get("stream/").status_code == 401


def test_so_many_streams_a_person_and_no_thread_or_connection_each(committed_cast: Cast, server: Server) -> None:
    cast = committed_cast
    with ExitStack() as open_ones:
        kept = []
        for person in (cast.gwen, cast.ada, cast.adam, cast.uri):
            token = token_of(person)
            for _ in range(MOST):
                kept.append(open_ones.enter_context(server.listen(token)))
                kept[-1].opened()
            with server.listen(token) as one_more:
                assert one_more.refusal() == (429, "streams")
                assert float(one_more.answer.headers["retry-after"]) >= 0
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connections = cursor.fetchone()[0]
        assert connections <= 3
        serving = children_of(server.process.pid)
        threads = [len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in serving]
        assert max(threads, default=0) < 4 * MOST
        assert len(serving) == (sys.platform == "linux")


# The end


def test_a_stream_ends_with_what_opened_it(committed_cast: Cast, server: Server) -> None:
    cast = committed_cast
    row, token = create_token(actor=None, person=cast.adam)
    browser = Client()
    browser.force_login(cast.uri)
    cookie = {"Cookie": f"sessionid={browser.cookies['sessionid'].value}"}
    with (
        server.listen(token) as by_token,
        server.listen(**cookie) as by_session,
        server.listen(token_of(cast.ada)) as stays,
    ):
        for stream in (by_token, by_session, stays):
            stream.opened()
        revoke_token(actor=cast.actor("gwen"), token=row)
        assert by_token.ended()
        browser.post("/accounts/logout/")
        assert by_session.ended()
        change_level(actor=cast.actor("gwen"), person=cast.ada, level=3)
        assert stays.ended()


def test_a_server_that_stops_ends_its_streams_and_does_not_wait_for_them(committed_cast: Cast) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words = [sys.executable, "-m", "workflowplatform.servers.web", str(listener.fileno())]
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment(), pass_fds=[listener.fileno()], start_new_session=True
        )
        try:
            server = Server(process, f"http://127.0.0.1:{listener.getsockname()[1]}")
            with server.listen(token_of(committed_cast.ada)) as stream:
                stream.opened()
                os.kill(process.pid, signal.SIGTERM)
                assert stream.ended()
            assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
        finally:
            stop(process)
