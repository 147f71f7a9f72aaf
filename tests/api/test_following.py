"""A reader that follows the audit misses nothing and gets nothing twice, however late others commit."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

from django.db import connection, transaction

from engine.audit.chain import Act, record
from engine.models import Audit
from tests.api.conftest import Caller, caller_of
from tests.api.scene import set_scene
from tests.cast import Cast
from tests.settling import settle


class Dawdler:
    """A transaction that has written, and commits late."""

    def __init__(self, subject: Any, actor: Any, word: str) -> None:
        self._written, self._may_commit = Event(), Event()
        self._thread = Thread(target=self._write, args=(subject, actor, word))
        self._thread.start()
        assert self._written.wait(20)

    def _write(self, subject: Any, actor: Any, word: str) -> None:
        try:
            with transaction.atomic():
                record(subject, Act(word), actor=actor)
                self._written.set()
                assert self._may_commit.wait(60)
        finally:
            connection.close()

    def commit(self) -> None:
        self._may_commit.set()
        self._thread.join(20)


def follow(caller: Caller, address: str = "audit/?after=") -> Iterator[dict[str, Any]]:
    """Read pages until there is no more for now; the last page says where to continue."""
    while True:
        page = caller.get(address).json()
        yield page
        if not page["more"]:
            return
        address = page["next"]


def seen(pages: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for page in pages for row in page["results"]]


def test_a_late_commit_is_neither_lost_nor_doubled(committed_cast: Cast) -> None:
    cast, ada = committed_cast, caller_of("ada")
    settle()
    first = list(follow(ada, "audit/?after=&limit=5"))
    late = Dawdler(cast.uri, cast.actor("gwen"), "dawdled")
    record_now(cast.adam, cast, "hurried")
    held = list(follow(ada, first[-1]["next"]))
    assert [row["action"] for page in held for row in page["results"]] == []
    late.commit()
    settle()
    freed = list(follow(ada, held[-1]["next"]))
    assert sorted(row["action"] for page in freed for row in page["results"]) == ["dawdled", "hurried"]
    again = list(follow(ada, freed[-1]["next"]))
    whole = seen(first) + seen(held) + seen(freed) + seen(again)
    assert sorted(whole) == sorted(Audit.objects.filter(tenant=cast.acme).values_list("pk", flat=True))
    assert len(whole) == len(set(whole))


def record_now(subject: Any, cast: Cast, word: str) -> None:
    with transaction.atomic():
        record(subject, Act(word), actor=cast.actor("gwen"))


def test_who_begins_now_gets_only_what_comes(committed_cast: Cast) -> None:
    cast, ada = committed_cast, caller_of("ada")
    ada.get("tasks/")  # the first use of a token is an act too
    settle()
    late = Dawdler(cast.uri, cast.actor("gwen"), "dawdled")
    begun = ada.get("audit/", after="now").json()
    assert (begun["results"], begun["more"], begun["previous"]) == ([], False, None)
    late.commit()
    record_now(cast.adam, cast, "hurried")
    settle()
    rows = [row["action"] for page in follow(ada, begun["next"]) for row in page["results"]]
    assert sorted(rows) == ["dawdled", "hurried"]


def test_following_obeys_tenant_level_and_filters(committed_cast: Cast) -> None:
    scene, ada = set_scene(committed_cast), caller_of("ada")
    settle()
    mine = seen(list(follow(ada)))
    theirs = seen(list(follow(caller_of("sam"))))
    assert mine
    assert theirs
    assert not set(mine) & set(theirs)
    assert caller_of("uri").get("audit/?after=").status_code == 403
    narrowed = [
        row for page in follow(ada, f"audit/?after=&subject={scene.instance}&limit=2") for row in page["results"]
    ]
    assert {row["subject"] for row in narrowed} == {scene.instance}
    assert [row["seq"] for row in narrowed] == list(range(1, len(narrowed) + 1))
