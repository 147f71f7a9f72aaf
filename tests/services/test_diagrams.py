"""Diagrams: every definition can be drawn, the picture is right, and other tenants see none of it."""

import itertools
import re
import time
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from django.utils import timezone, translation
from rest_framework.test import APIClient

from engine.diagram.graph import END, START, Flow, flow_of
from engine.diagram.layout import MADE_WITH, ROOM, lay_out, reworded
from engine.diagram.outline import outline_text
from engine.diagram.step_names import step_kind
from engine.diagram.svg import draw
from engine.dispatch.diagrams import WHILE_DRAWING, DiagramWorker
from engine.gallery import GALLERY, GALLERY_FOLDER
from engine.kernel.language.normalizer import normalize
from engine.kernel.language.step_lists import bodies
from engine.models import Diagram, TemplateVersion
from engine.services.tasks.lifecycle import complete_task
from engine.services.templates.diagrams import (
    AGAIN,
    CLAIMED,
    claim_undrawn,
    inline_diagram,
    instance_diagram,
    keep_geometry,
    version_diagram,
)
from engine.services.templates.versions import delete_draft, save_draft
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.accounts.actor import Actor


@cache
def canonical(source: str) -> dict[str, Any]:
    found = normalize(source).canonical
    assert found is not None
    return dict(found)


def gallery(name: str) -> dict[str, Any]:
    return canonical((GALLERY_FOLDER / f"{name}.yaml").read_text())


def all_steps(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        one for step in steps for one in (step, *(s for _n, b in bodies(step, step_kind(step)) for s in all_steps(b)))
    ]


def reachable(flow: Flow) -> set[str]:
    """Walk from every beginning."""
    seen = {name for name, node in flow.nodes.items() if node.look in ("start", "listen")}
    grown = True
    while grown:
        before = len(seen)
        seen |= {edge.target for edge in flow.edges if edge.source in seen}
        grown = len(seen) > before
    return seen


@pytest.mark.parametrize("name", GALLERY)
def test_every_step_of_the_gallery_can_be_reached_in_its_flow(name: str) -> None:
    definition = gallery(name)
    flow = flow_of(definition)
    paths = {step["path"] for step in all_steps(definition["steps"]) if step_kind(step) != "group"}
    undone = {step["path"] for step in all_steps(definition["steps"]) for step in all_steps(step.get("undo", []))}
    assert paths - undone <= set(flow.nodes)
    assert set(flow.nodes) - undone <= reachable(flow)


def test_a_choice_and_a_way_back_are_told_by_their_edges() -> None:
    flow = flow_of(canonical(LOOP))
    ways = {(edge.source, edge.target, edge.label) for edge in flow.edges}
    assert (START, "again", "") in ways
    assert ("again/steps/ask", "again", "again") in ways or ("again/ask", "again", "again") in ways
    assert any(target == END and label == "then" for source, target, label in ways if source == "again")


JUMPS = """
workflow: jumps
steps:
  - {id: draft, task: {title: Draft}}
  - id: check
    task: {title: Check, outcomes: [good, again, urgent]}
    next: [{to: draft, when: result.check.outcome == 'again'}, {to: send, when: result.check.outcome == 'urgent'}]
    timeout: P1D
    on_timeout: [{id: late, set: {late: true}, next: draft}]
  - {id: choose, if: state.x == 1, then: [{next: check}]}
  - {id: sign, task: {title: Sign}, next: send}
  - {id: never, task: {title: Never}}
  - {id: send, call: {python: send}}
"""


def test_jumps_are_edges() -> None:
    flow = flow_of(canonical(JUMPS))
    ways = {(edge.source, edge.target, edge.label) for edge in flow.edges}
    assert {
        ("check", "draft", "Again"),
        ("check", "send", "Urgent"),
        ("check", "choose", ""),
        ("check/on_timeout/late", "draft", ""),
        ("choose", "check", "yes"),
        ("choose", "sign", "no"),
        ("sign", "send", ""),
    } <= ways
    assert not [source for source, target, _label in ways if target == "never"]
    assert "Check → Draft → Send" in outline_text(canonical(JUMPS))


LOOP = """
workflow: loop
title: Loop
steps:
  - id: again
    repeat:
      until: result.ask.outcome == 'done'
      steps:
        - {id: ask, task: {title: "<b>Ask</b> & go"}}
"""


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    return lay_out(flow_of(gallery("purchase-approval")))


def test_no_two_nodes_overlap_and_every_edge_meets_its_nodes(drawn: dict[str, Any]) -> None:
    for one, other in itertools.combinations(drawn["nodes"], 2):
        apart = (
            one["x"] + one["width"] <= other["x"]
            or other["x"] + other["width"] <= one["x"]
            or one["y"] + one["height"] <= other["y"]
            or other["y"] + other["height"] <= one["y"]
        )
        assert apart, (one["id"], other["id"])
    places = {node["id"]: node for node in drawn["nodes"]}
    for edge in drawn["edges"]:
        for name, (x, y) in ((edge["source"], edge["points"][0]), (edge["target"], edge["points"][-1])):
            node = places[name]
            assert node["x"] - 1 <= x <= node["x"] + node["width"] + 1
            assert node["y"] - 1 <= y <= node["y"] + node["height"] + 1


def test_the_same_definition_gets_the_same_picture(drawn: dict[str, Any]) -> None:
    assert lay_out(flow_of(gallery("purchase-approval"))) == drawn


def test_of_a_choice_only_the_way_taken_is_bold(drawn: dict[str, Any]) -> None:
    states = {node["step"]: "done" for node in drawn["nodes"] if node["step"]}
    ways = re.findall(r'<g class="(wfd-edge[^"]*)">', draw(drawn, states))
    outside = [
        number
        for number, edge in enumerate(drawn["edges"])
        if edge["label"] == "no" and not edge["target"].startswith(edge["source"] + "/")
    ]
    assert outside
    assert {ways[number] for number in outside} == {"wfd-edge"}


def test_what_authors_write_is_text_in_the_picture() -> None:
    picture = draw(lay_out(flow_of(canonical(LOOP))))
    assert "<b>" not in picture
    assert "&lt;b&gt;Ask&lt;/b&gt; &amp; go" in picture


@pytest.fixture(autouse=True)
def drawing(settings: Any) -> None:
    settings.WORKFLOW_DIAGRAMS = True


def laid_out(version: TemplateVersion) -> None:
    """Let a worker's hand draw, and wait for it."""
    hand = DiagramWorker()
    hand._next_look = 0
    while Diagram.objects.filter(version=version, geometry__isnull=False).count() == 0:
        hand.look()
        time.sleep(0.02)  # the drawer runs at a low priority


def test_the_outline_stands_in_until_a_worker_has_drawn(gwen: Actor) -> None:
    version = activated(gwen, APPROVAL)
    before = version_diagram(actor=gwen, name="approval", number=1)
    assert "Steps of Approval" in before
    laid_out(version)
    after = version_diagram(actor=gwen, name="approval", number=1)
    assert 'data-step="review"' in after


def test_the_picture_of_an_instance_says_what_became_of_its_steps(gwen: Actor, ada: Actor) -> None:
    version = activated(gwen, APPROVAL)
    laid_out(version)
    instance = started(gwen, "approval", amount=2)
    assert (
        _class_of("review", instance_diagram(actor=ada, instance_id=instance.pk)) == "wfd-node wfd-person wfd-is-here"
    )
    complete_task(actor=ada, task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    picture = instance_diagram(actor=ada, instance_id=instance.pk)
    assert _class_of("review", picture) == "wfd-node wfd-person wfd-is-done"
    assert _class_of("decide/else/unmark", picture).endswith("wfd-is-todo")


def test_the_picture_within_a_page_speaks_the_language_of_who_reads(gwen: Actor) -> None:
    version = activated(gwen, APPROVAL)
    laid_out(version)
    instance = started(gwen, "approval", amount=2)
    with translation.override("de"):
        page, file = inline_diagram(gwen, instance), instance_diagram(actor=gwen, instance_id=instance.pk)
    assert _words(page) == ["ja", "nein", "Start", "Review", "Decide", "Mark", "Unmark", "Abgeschlossen"]
    assert _words(file) == ["yes", "no", "Start", "Review", "Decide", "Mark", "Unmark", "Completed"]


def test_another_language_moves_nothing_and_long_words_stay_in_their_shape() -> None:
    flow = flow_of(canonical(LOOP))
    geometry = lay_out(flow)
    with translation.override("de"):
        said = reworded(geometry, flow_of(canonical(LOOP)))
    assert [edge["points"] for edge in said["edges"]] == [edge["points"] for edge in geometry["edges"]]
    end, was = said["nodes"][-1], geometry["nodes"][-1]
    assert (end["title"], was["title"]) == ("Abgeschlossen", "Completed")
    assert 0 < end["width"] - was["width"] <= ROOM
    assert end["x"] + end["width"] / 2 == was["x"] + was["width"] / 2
    assert reworded(geometry, flow_of(canonical(APPROVAL))) == geometry


def _words(picture: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", picture)


def _class_of(step: str, picture: str) -> str:
    found = re.search(rf'<g class="([^"]+)" data-step="{step}"', picture)
    assert found, step
    return found[1]


def test_two_workers_do_not_draw_the_same(gwen: Actor) -> None:
    version = activated(gwen, APPROVAL)
    assert claim_undrawn(8) == [version]
    assert claim_undrawn(8) == []
    assert Diagram.objects.get(version=version).made_with == CLAIMED


def test_a_full_hand_is_followed_by_the_next_at_once(gwen: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.dispatch.diagrams.AT_ONCE", 1)
    for name in ("one", "two"):
        save_draft(actor=gwen, source=APPROVAL.replace("workflow: approval", f"workflow: {name}"))
    hand = DiagramWorker()
    hand._next_look = 0.0
    look_until_drawn(hand, 1)
    followed, every = Diagram.objects.filter(made_with=CLAIMED).count(), hand.every
    look_until_drawn(hand, 2)
    assert (followed, every) == (1, WHILE_DRAWING)


def look_until_drawn(hand: DiagramWorker, count: int) -> None:
    """Let a hand look until so many pictures are there; it begins nothing more when it waits for its time."""
    until = time.monotonic() + 60
    while Diagram.objects.filter(made_with=MADE_WITH).count() < count:
        assert time.monotonic() < until
        hand.look()
        time.sleep(0.05)


def test_a_layout_that_failed_is_tried_again_after_a_while(gwen: Actor) -> None:
    version = activated(gwen, APPROVAL)
    keep_geometry([(version, None)], made_with=MADE_WITH)
    assert claim_undrawn(8) == []
    Diagram.objects.update(made_at=timezone.now() - AGAIN - timedelta(minutes=1))
    assert claim_undrawn(8) == [version]
    keep_geometry([(version, {"nodes": []})], made_with=MADE_WITH)
    Diagram.objects.update(made_at=timezone.now() - AGAIN - timedelta(minutes=1))
    assert claim_undrawn(8) == []


def test_a_changed_draft_is_drawn_anew(gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=APPROVAL)
    claim_undrawn(8)
    changed = save_draft(actor=gwen, source=APPROVAL.replace("Review", "Look at"), name="approval", number=draft.number)
    assert claim_undrawn(8) == [changed]


def test_a_deleted_draft_takes_its_picture_along(gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=APPROVAL)
    claim_undrawn(8)
    delete_draft(actor=gwen, name="approval", number=draft.number)
    assert not Diagram.objects.exists()


def test_strangers_get_no_picture(cast: Cast, gwen: Actor) -> None:
    activated(gwen, APPROVAL)
    instance = started(gwen, "approval", amount=2)
    client = APIClient()
    client.force_login(cast.sam)
    for address in (
        "/api/v1/templates/approval/versions/1/diagram.svg",
        f"/api/v1/instances/{instance.pk}/diagram.svg",
    ):
        assert client.get(address).status_code == 404
    client.force_login(cast.ada)
    answer = client.get(f"/api/v1/instances/{instance.pk}/diagram.svg")
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/svg+xml; charset=utf-8")
