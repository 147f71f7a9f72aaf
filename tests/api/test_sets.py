"""Sets of documents over REST."""

from tests.api.conftest import Callers
from tests.cast import Cast
from tests.services.test_sets import CHILD, PARENT, SET


def test_set_is_saved_checked_and_activated_over_rest(cast: Cast, call: Callers) -> None:
    gwen = call("gwen")
    checked = gwen.post("templates/validate/", {"source": SET}).json()
    assert (checked["findings"], [one["name"] for one in checked["documents"]]) == ([], ["parent", "child"])
    saved = gwen.post("templates/", {"source": SET})
    assert (saved.status_code, saved.json()["name"]) == (201, "parent")
    assert saved["Location"].endswith("/templates/parent/versions/1/")
    versions = [{"name": one["name"], "version": one["version"]} for one in saved.json()["versions"]]
    assert call("sam").post("templates/activate/", {"versions": versions}).status_code == 404
    assert call("ada").post("templates/activate/", {"versions": versions}).status_code == 403
    active = gwen.post("templates/activate/", {"versions": versions}, key="once")
    assert [one["status"] for one in active.json()["versions"]] == ["active", "active"]
    again = gwen.post("templates/activate/", {"versions": versions}, key="once")
    assert again.content == active.content


def test_set_with_a_red_test_is_refused_whole_over_rest(cast: Cast, call: Callers) -> None:
    gwen = call("gwen")
    source = f"{CHILD}---\n{PARENT.replace('said: new', 'said: other')}"
    saved = gwen.post("templates/", {"source": source}).json()["versions"]
    versions = [{"name": one["name"], "version": one["version"]} for one in saved]
    refused = gwen.post("templates/activate/", {"versions": versions})
    assert (refused.status_code, refused.json()["code"]) == (422, "findings")
    assert [one["path"] for one in refused.json()["findings"]] == ["parent: tests"]
    assert gwen.get("templates/child/").json()["status"] is None
    for bad in ({}, {"versions": []}, {"versions": [{"name": "child"}]}, {"versions": [*versions, *versions]}):
        assert gwen.post("templates/activate/", bad).status_code == 400
