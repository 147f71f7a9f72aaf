"""What authors ask while they write, how templates begin, and what a trial keeps."""

import math

import pytest

from engine.diagram.graph import flow_of
from engine.diagram.layout import lay_out
from engine.errors import Conflict, Invalid, NotFound, Refused, Unprocessable
from engine.gallery import GALLERY
from engine.models import Template, TemplateVersion
from engine.services.templates import creation, exports, trial_runs
from engine.services.templates import editor as authoring
from engine.services.templates.versions import activate_version, check_source, save_draft
from engine.services.tenants.settings import delete_secret, put_secret
from tests.workflows import APPROVAL, activated, started
from workflowplatform.accounts.actor import Actor

TRIP = """\
workflow: trip
title: Trip
input: {type: object, required: [where], properties: {where: {type: string}}}
steps:
  - id: approve
    task:
      title: "Trip to ${start.where}"
      roles: [finance]
      outcomes: {approve: {}, reject: {reject: true}}
      form: {type: object, required: [note], properties: {note: {type: string}}}
  - id: sleep
    wait: {for: P2D}
  - id: book
    call: {http: {method: POST, url: "https://example.com/${secret.agency}"}}
output: {id: "${get(result, 'book.body.id', null)}"}
"""


@pytest.fixture
def trip(gwen: Actor) -> TemplateVersion:
    put_secret(actor=gwen, name="agency", value="s3cret-value")
    return save_draft(actor=gwen, source=TRIP)


# While a person types


def test_a_role_that_nobody_has_is_found_and_the_flow_is_drawn_all_the_same(gwen: Actor) -> None:
    look = authoring.look_at_source(actor=gwen, source=APPROVAL.replace("[finance]", "[finanse]"))
    assert [finding.code for finding in look.findings] == ["unknown_role"]
    assert look.graph is not None
    assert look.places["review"].line < look.findings[0].line <= look.places["review"].last


def test_the_browsers_layout_becomes_the_houses_own_picture(gwen: Actor) -> None:
    canonical = check_source(actor=gwen, source=APPROVAL).canonical
    laid_out = lay_out(flow_of(canonical or {}))
    graph = {
        "width": laid_out["width"],
        "height": laid_out["height"],
        "children": laid_out["nodes"],
        "edges": [
            {
                "sections": [
                    {
                        "startPoint": point(way[0]),
                        "bendPoints": [point(one) for one in way[1:-1]],
                        "endPoint": point(way[-1]),
                    }
                ]
            }
            for way in (edge["points"] for edge in laid_out["edges"])
        ],
    }
    drawn = authoring.draw_source(actor=gwen, source=APPROVAL, laid_out=graph)
    assert drawn.count("data-step=") == sum(bool(node["step"]) for node in laid_out["nodes"])


def point(place: list[float]) -> dict[str, float]:
    return {"x": place[0], "y": place[1]}


@pytest.mark.parametrize(
    "graph",
    [
        None, 7, "x", [], {}, {"children": [], "edges": []}, {"width": "<svg>", "height": 1, "children": [], "edges": []},
        {"width": 1, "height": 1, "children": {}, "edges": 3},
    ],
)  # fmt: skip
def test_what_is_no_layout_is_refused(gwen: Actor, graph: object) -> None:
    with pytest.raises(Invalid):
        authoring.draw_source(actor=gwen, source=APPROVAL, laid_out=graph)


def test_only_numbers_of_a_layout_reach_the_picture(gwen: Actor) -> None:
    source = "workflow: one\nsteps:\n  - {id: a, set: {x: 1}}\n"
    look = authoring.look_at_source(actor=gwen, source=source)
    assert look.graph is not None
    nodes = [
        {"id": child["id"], "x": math.nan, "y": 1, "width": 1, "height": 1, "title": "<script>"}
        for child in look.graph["children"]
    ]
    edges = [
        {"sections": [{"startPoint": {"x": 0, "y": 0}, "endPoint": {"x": 1, "y": "<script>"}}]}
        for _ in look.graph["edges"]
    ]
    with pytest.raises(Invalid):
        authoring.draw_source(
            actor=gwen, source=source, laid_out={"width": 1, "height": 1, "children": nodes, "edges": edges}
        )
    for edge in edges:
        edge["sections"][0]["endPoint"]["y"] = 1
    with pytest.raises(Invalid):  # NaN is no place
        authoring.draw_source(
            actor=gwen, source=source, laid_out={"width": 1, "height": 1, "children": nodes, "edges": edges}
        )
    for node in nodes:
        node["x"] = 1
    drawn = authoring.draw_source(
        actor=gwen, source=source, laid_out={"width": 1, "height": 1, "children": nodes, "edges": edges}
    )
    assert "<script" not in drawn


def test_words_to_complete_are_the_tenants_own(gwen: Actor, sam: Actor) -> None:
    put_secret(actor=gwen, name="agency", value="a-long-value")
    ours, theirs = (authoring.words_to_complete(actor=actor) for actor in (gwen, sam))
    assert ours["secrets"] == ["agency"]
    assert theirs["secrets"] == []
    assert "gwen" in ours["users"]
    assert "gwen" not in theirs["users"]
    assert "steps" in ours["schema"]["properties"]


def test_level_four_does_not_author(ada: Actor, trip: TemplateVersion) -> None:
    for ask in (
        lambda: authoring.look_at_source(actor=ada, source=TRIP),
        lambda: authoring.draw_source(actor=ada, source=TRIP, laid_out={}),
        lambda: authoring.words_to_complete(actor=ada),
        lambda: authoring.test_source(actor=ada, source=TRIP),
        lambda: trial_runs.try_version(actor=ada, name="trip", number=1, test={}),
        lambda: trial_runs.keep_as_test(actor=ada, name="trip", number=1, title="x", test={}),
        lambda: creation.begin_from_gallery(actor=ada, name=GALLERY[0]),
        lambda: creation.duplicate_version(actor=ada, name="trip", number=1),
        lambda: creation.roll_back(actor=ada, name="trip", number=1),
        lambda: creation.import_documents(actor=ada, text=TRIP),
    ):
        with pytest.raises(Refused):
            ask()


def test_another_tenants_versions_are_not_there(sam: Actor, trip: TemplateVersion) -> None:
    for ask in (
        lambda: authoring.readiness_of(actor=sam, name="trip", number=1),
        lambda: trial_runs.try_version(actor=sam, name="trip", number=1, test={}),
        lambda: trial_runs.keep_as_test(actor=sam, name="trip", number=1, title="x", test={}),
        lambda: creation.duplicate_version(actor=sam, name="trip", number=1),
        lambda: creation.roll_back(actor=sam, name="trip", number=1),
        lambda: exports.export_version(actor=sam, name="trip", number=1),
    ):
        with pytest.raises(NotFound):
            ask()


# Before it is activated


def test_readiness_tells_findings_red_tests_differences_and_who_runs(gwen: Actor) -> None:
    activated(gwen, APPROVAL)
    started(gwen, "approval", amount=1)
    started(gwen, "approval", amount=2)
    red = "tests:\n  - name: never\n    start: {amount: 1}\n    expect: {status: cancelled}\n"
    save_draft(actor=gwen, source=APPROVAL.replace("[finance]", "[hr]") + red)
    ready = authoring.readiness_of(actor=gwen, name="approval", number=2)
    assert (ready.errors, ready.red, ready.against, ready.running) == (0, 1, 1, 2)
    assert [(one.step, one.here) for one in ready.differences] == [("review", 2)]
    assert ready.tests[0].line == (APPROVAL + red).count("\n") - 2


# How templates begin


def test_the_whole_gallery_can_be_begun_and_twice_gets_a_name_of_its_own(gwen: Actor) -> None:
    for name in GALLERY:
        assert creation.begin_from_gallery(actor=gwen, name=name).template.name == name
    again = creation.begin_from_gallery(actor=gwen, name=GALLERY[0])
    assert (again.template.name, again.number) == (f"{GALLERY[0]}-2", 1)
    with pytest.raises(NotFound):
        creation.begin_from_gallery(actor=gwen, name="no-such")


@pytest.mark.parametrize("line", ["workflow: trip", 'workflow: "trip"  # ours', "workflow:   'trip'"])
def test_a_duplicate_is_another_template(gwen: Actor, line: str) -> None:
    save_draft(actor=gwen, source="title: Trip\n" + line + "\nsteps:\n  - {id: a, set: {x: trip}}\n")
    copy = creation.duplicate_version(actor=gwen, name="trip", number=1)
    assert (copy.template.name, copy.number, copy.status) == ("trip-2", 1, "draft")
    assert "set: {x: trip}" in copy.source
    assert creation.duplicate_version(actor=gwen, name="trip", number=1).template.name == "trip-3"


def test_rolling_back_makes_a_new_version_and_leaves_history_alone(gwen: Actor) -> None:
    activated(gwen, APPROVAL)
    save_draft(actor=gwen, source=APPROVAL.replace("[finance]", "[hr]"))
    activate_version(actor=gwen, name="approval", number=2)
    fresh = creation.roll_back(actor=gwen, name="approval", number=1)
    assert (fresh.number, fresh.status, fresh.source) == (3, "active", APPROVAL)
    assert list(TemplateVersion.objects.order_by("number").values_list("status", flat=True)) == [
        "archived",
        "archived",
        "active",
    ]


def test_rolling_back_to_what_no_longer_fits_changes_nothing(gwen: Actor, trip: TemplateVersion) -> None:
    activate_version(actor=gwen, name="trip", number=1)
    save_draft(actor=gwen, source=TRIP.replace("/${secret.agency}", ""))
    activate_version(actor=gwen, name="trip", number=2)
    delete_secret(actor=gwen, name="agency")
    with pytest.raises(Unprocessable):
        creation.roll_back(actor=gwen, name="trip", number=1)
    assert list(TemplateVersion.objects.order_by("number").values_list("status", flat=True)) == ["archived", "active"]


def test_a_set_is_imported_whole_or_not_at_all(gwen: Actor) -> None:
    made = creation.import_documents(actor=gwen, text=f"---\n{APPROVAL}\n--- # next\r\n{TRIP}")
    assert [version.template.name for version in made] == ["approval", "trip"]
    with pytest.raises(Invalid) as refusal:
        creation.import_documents(actor=gwen, text=f"{APPROVAL}---\nsteps: []\n")
    assert "2" in refusal.value.message
    assert TemplateVersion.objects.count() == 2


@pytest.mark.parametrize("text", ["", "---\n---\n", "a: [", "workflow: A B\n", "workflow: x\n---\n" * 51])
def test_what_cannot_be_imported_is_said(gwen: Actor, text: str) -> None:
    with pytest.raises(Invalid):
        creation.import_documents(actor=gwen, text=text)
    assert not Template.objects.exists()


def test_every_form_of_export_imports_as_the_same_definition(gwen: Actor, trip: TemplateVersion) -> None:
    for form in exports.EXPORTS:
        text = exports.export_version(actor=gwen, name="trip", number=1, form=form).text
        (again,) = creation.import_documents(actor=gwen, text=text)
        assert (again.sha256, again.number) == (trip.sha256, again.number)


# Trials


def test_a_trial_grows_act_by_act_and_is_kept_as_a_green_test(gwen: Actor, trip: TemplateVersion) -> None:
    def tried(**test: object) -> trial_runs.Trial:
        return trial_runs.try_version(actor=gwen, name="trip", number=1, test=test)

    assert tried(start={}).fields == ("where",)
    begun = tried(start={"where": "Rome"})
    assert [one.task.title for one in begun.tasks] == ["Trip to Rome"]
    refused = tried(start={"where": "Rome"}, do=[{"complete": "approve", "with": {"outcome": "approve"}}])
    assert "refused" in refused.problem
    answer = {"complete": "approve", "with": {"outcome": "approve", "note": "on: time"}}
    waiting = tried(start={"where": "Rome"}, do=[answer])
    assert [timer.advance for timer in waiting.timers] == ["PT172800S"]
    done = {
        "start": {"where": "Rome"},
        "calls": {"book": {"status": 200, "body": {"id": 7}}},
        "do": [answer, {"advance": "PT172800S"}],
    }
    ended = tried(**done)
    assert (ended.status, ended.output, ended.path) == ("completed", {"id": 7}, ("approve", "sleep", "book"))
    assert "s3cret" not in repr(ended.calls)

    kept = trial_runs.keep_as_test(actor=gwen, name="trip", number=1, title="booked", test=done, revision=1)
    assert kept.source.startswith(TRIP)
    (result,) = authoring.test_source(actor=gwen, source=kept.source)
    assert (result.report.name, result.report.passed) == ("booked", True)
    changed = kept.source.replace("P2D", "P3D")
    assert not authoring.test_source(actor=gwen, source=changed)[0].report.passed


def test_a_stub_that_nobody_asked_for_yet_is_no_problem_and_is_not_kept(gwen: Actor, trip: TemplateVersion) -> None:
    test = {"start": {"where": "Rome"}, "calls": {"book": {"status": 500}}, "do": []}
    assert trial_runs.try_version(actor=gwen, name="trip", number=1, test=test).problem == ""
    kept = trial_runs.keep_as_test(actor=gwen, name="trip", number=1, title="begun", test=test)
    (result,) = authoring.test_source(actor=gwen, source=kept.source)
    assert (result.report.passed, result.report.failures) == (True, ())


def test_a_template_only_for_some_is_tried_as_one_of_them_and_the_kept_test_too(gwen: Actor) -> None:
    save_draft(
        actor=gwen, source="workflow: hr\nstarters: {roles: [hr], min_level: 5}\nsteps:\n  - {id: a, set: {x: 1}}\n"
    )
    kept = trial_runs.keep_as_test(actor=gwen, name="hr", number=1, title="starts", test={"start": {}})
    assert authoring.test_source(actor=gwen, source=kept.source)[0].report.passed


def test_two_authors_do_not_overwrite_each_other_by_keeping_a_test(gwen: Actor, trip: TemplateVersion) -> None:
    save_draft(actor=gwen, source=TRIP + "# changed\n", name="trip", number=1, revision=1)
    with pytest.raises(Conflict):
        trial_runs.keep_as_test(
            actor=gwen, name="trip", number=1, title="x", test={"start": {"where": "Rome"}}, revision=1
        )


@pytest.mark.parametrize(
    "test",
    [
        {"do": [{}]}, {"do": [7]}, {"do": "x"}, {"start": 7}, {"start": {"where": "R"}, "do": [{"advance": "x"}]},
        {"start": {"where": "R"}, "do": [{"complete": "nobody"}]}, {"start": {"where": "R"}, "people": {"a": 7}},
        {"people": 7}, {"start": {"where": "R"}, "do": [{"advance": "P90000Y"}]}, {"at": "never"}, {"as": 7},
        {"start": {"where": "R"}, "do": [{"complete": "approve", "with": 7}]},
    ],
)  # fmt: skip
def test_no_trial_breaks_anything(gwen: Actor, trip: TemplateVersion, test: dict[str, object]) -> None:
    assert trial_runs.try_version(actor=gwen, name="trip", number=1, test=test).problem


# What is used cannot go


def test_a_secret_in_use_cannot_be_deleted_and_says_by_what(gwen: Actor, trip: TemplateVersion) -> None:
    activate_version(actor=gwen, name="trip", number=1)
    with pytest.raises(Conflict, match="Trip 1") as refusal:
        delete_secret(actor=gwen, name="agency")
    assert refusal.value.code == "in_use"
