"""The OpenAPI document: true, committed, and readable without asking anybody else."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from django.http import HttpResponse
from django.urls import URLPattern, URLResolver
from drf_spectacular import validation

from engine.api import urls
from engine.api.openapi import document
from engine.api.operations_table import OPERATIONS
from engine.gallery import examples, gallery
from tests.api.conftest import Caller, Callers
from tests.api.scene import Scene, set_whole_scene
from tests.api.test_every_route_refuses import BODIES, ROUTES
from tests.cast import Cast

ROOT = Path(__file__).resolve().parent.parent.parent
WITHOUT_OPERATION = {"schema/", "docs/", "{anywhere}"}


def addresses(patterns: list[Any], before: str = "") -> list[tuple[str, URLPattern]]:
    found: list[tuple[str, URLPattern]] = []
    for pattern in patterns:
        address = before + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
        found += addresses(pattern.url_patterns, address) if isinstance(pattern, URLResolver) else [(address, pattern)]
    return found


def test_committed_document_is_the_generated_one() -> None:
    committed = json.loads((ROOT / "docs/openapi.json").read_text())
    assert committed == json.loads(json.dumps(document())), "renew it with: manage.py openapi"


def test_document_is_openapi_3_1() -> None:
    assert document()["openapi"].startswith("3.1")
    rules = json.loads((Path(validation.__file__).parent / "openapi_3_1_schema.json").read_text())
    found = jsonschema_rs.validator_for(rules).iter_errors(json.loads(json.dumps(document())))
    assert [f"{error.instance_path}: {error.message[:200]}" for error in found] == []


def test_every_operation_is_described_and_nothing_else() -> None:
    served = {
        (method.upper(), address)
        for address, pattern in addresses(urls.urlpatterns)
        if address not in WITHOUT_OPERATION
        for method in pattern.callback.view_class.http_method_names
        if method != "options" and hasattr(pattern.callback.view_class, method)
    }
    assert served == set(OPERATIONS)
    written = {(method.upper(), path[1:]) for path, methods in document()["paths"].items() for method in methods}
    assert written == served


def test_every_operation_declares_its_refusals() -> None:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            declared = set(operation["responses"])
            assert "401" in declared, (method, path)
            if path != "/health/":
                assert declared >= {"400", "403", "404", "405", "429", "503"}, (method, path)
            if method in {"post", "put", "delete"}:
                assert declared >= {"409", "413", "415", "422"}, (method, path)


@cache
def _validator(text: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**json.loads(text), "components": document()["components"]})


def faults(path: str, method: str, answer: HttpResponse) -> list[str]:
    """Return how an answer differs from what the document promises."""
    declared = document()["paths"][path][method.lower()]["responses"].get(str(answer.status_code))
    if declared is None:
        return [f"{answer.status_code} is not declared"]
    if "$ref" in declared:
        declared = document()["components"]["responses"][declared["$ref"].rpartition("/")[2]]
    kind = answer["Content-Type"].partition(";")[0] if answer.getvalue() else None
    if (kind is None) != ("content" not in declared) or (kind and kind not in declared["content"]):
        return [f"{kind} is not declared"]
    if kind is None or "json" not in kind or kind == "application/x-ndjson":
        return []
    shape = json.dumps(declared["content"][kind]["schema"])
    return [f"{error.instance_path}: {error.message}" for error in _validator(shape).iter_errors(answer.json())]


PATTERNS = [
    (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(address))), address) for _, address in sorted(OPERATIONS)
]


def template_of(path: str) -> str:
    """Find the document's path for an address; a literal one before one with places."""
    found = [address for pattern, address in PATTERNS if pattern.fullmatch(path.partition("?")[0])]
    return "/" + min(found, key=lambda address: address.count("{"))


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_whole_scene(cast)


@pytest.mark.parametrize("who", ["gwen", "ada", None])
def test_every_answer_is_as_the_document_says(call: Callers, stranger: Caller, scene: Scene, who: str | None) -> None:
    caller = call(who) if who else stranger
    wrong = {}
    for method, path in (*ROUTES, ("GET", "health/")):
        body = BODIES.get(path, {}) if method in {"POST", "PUT"} else None
        answer = caller(method, scene.address(path), body)
        if found := faults(template_of(scene.address(path)), method, answer):
            wrong[method, path] = found
    assert wrong == {}


def test_examples_of_the_gallery_run(call: Callers) -> None:
    gwen, uri, adam = call("gwen"), call("uri"), call("adam")
    assert gwen.post("templates/", {"source": gallery()["leave-request"]}).status_code == 201
    version = "templates/leave-request/versions/1/"
    assert gwen.post(version + "activate/").status_code == 200
    assert gwen.post(version + "simulate/", examples.SIMULATED).json()["failures"] == []
    assert gwen.post("webhooks/", examples.SUBSCRIBED).status_code == 201
    first, second = (uri.post("instances/", examples.STARTED).json() for _ in range(2))
    task = adam.get(f"tasks/?instance={first['id']}").json()["results"][0]["id"]
    assert adam.post(f"tasks/{task}/complete/", examples.ANSWERED).status_code == 200
    signalled = adam.post(f"instances/{second['id']}/signals/", examples.SIGNALLED)
    assert signalled.json() == {"delivered": True, "kept": False}
    assert gwen.post("templates/", {"source": gallery()[examples.SENT]}).status_code == 201


def test_document_is_open_and_also_yaml(stranger: Caller, db: None) -> None:
    assert stranger("GET", "schema/").json() == json.loads(json.dumps(document()))
    yaml = stranger("GET", "schema/?format=yaml")
    assert yaml.content.startswith(b"openapi: 3.1.0")
    assert stranger("GET", "schema/?format=word").json()["errors"][0]["path"] == "format"


def test_page_asks_nobody_else_and_has_no_inline_script(stranger: Caller, db: None) -> None:
    page = stranger("GET", "docs/").content.decode()
    named = re.findall(r'(?:src|href|data-schema)="([^"]+)"', page)
    assert len(named) >= 5
    assert all(address.startswith("/") for address in named)
    assert not re.search(r"<script(?![^>]*src=)|<style|style=", page)
