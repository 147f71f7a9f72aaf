"""What the documents say is true: examples run, routes and codes are all there, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.api import urls
from engine.dispatch.drain import drain
from engine.errors import KeyReused, NotFound
from engine.kernel.language.normalizer import normalize
from engine.models import Instance, Signal
from engine.services.instances.lifecycle import start_instance
from engine.services.people.tokens import create_token
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast, cast, committed_cast
from tests.workflows import activated, only_task

__all__ = ["cast", "committed_cast"]

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(path: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / path).read_text(), re.S)


EXAMPLES = [(path, source) for path in ("README.md", "docs/first_workflow.md") for source in blocks(path, "yaml")]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize(("path", "source"), EXAMPLES)
def test_example_has_no_findings(path: str, source: str) -> None:
    assert normalize(source).findings == ()


def order(cast: Cast, price: float) -> Instance:
    return start_instance(
        actor=cast.actor("uri"), template="book-order", input={"book": "Momo", "price": price}
    ).instance


def approve(cast: Cast, instance: Instance, **answer: Any) -> Instance:
    return complete_task(actor=cast.actor("adam"), task_id=only_task(instance).pk, outcome="approve", **answer).instance


def test_first_workflow_goes_as_the_guide_tells(cast: Cast) -> None:
    first, second = blocks("docs/first_workflow.md", "yaml")
    activated(cast.actor("gwen"), first)
    assert approve(cast, order(cast, 40)).status == "completed"
    assert activated(cast.actor("gwen"), second).number == 2
    dear = approve(cast, order(cast, 40), values={"cost_centre": "4400"})
    assert (dear.status, dear.reference[:5]) == ("running", "BOOK-")


def test_cheap_book_of_the_guide_is_ordered_by_a_worker(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), blocks("docs/first_workflow.md", "yaml")[1])
    cheap = order(committed_cast, 12.5)
    drain()
    assert cheap.waits.get().kind == "timer"
    Signal.objects.update(due_at=cheap.started_at)
    drain()
    cheap.refresh_from_db()
    assert (cheap.status, cheap.output, cheap.state["arrived"]) == ("completed", {"ordered": True}, True)


def test_quick_start_with_curl_runs_as_often_as_one_likes(
    committed_cast: Cast, live_server: Any, tmp_path: Path
) -> None:
    _, token = create_token(actor=None, person=committed_cast.gwen, name="quick start")
    script = "set -e\n" + blocks("docs/rest.md", "sh")[0]
    environment = {"BASE": f"{live_server.url}/api/v1", "TOKEN": token, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    for _ in ("first", "again"):
        done = subprocess.run(
            ["sh", "-c", script], env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[-1] == "completed"
        assert "Hello, world" in done.stdout
        assert '"code"' not in done.stdout, "a refusal among the answers"


def routes(patterns: list[Any], before: str = "") -> list[str]:
    found = []
    for pattern in patterns:
        address = before + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
        inner = getattr(pattern, "url_patterns", None)
        found += routes(inner, address) if inner else [address]
    return found


def test_every_route_is_described() -> None:
    text = (ROOT / "docs/rest.md").read_text()
    for address in routes(urls.urlpatterns):
        route = re.sub(r"\{\w+_id\}", "{id}", address).replace("{number}", "{n}")
        assert route == "{anywhere}" or re.search(rf"(GET|POST|PUT|DELETE) {re.escape(route)}[`?]", text), route


PAGES_ONLY = {"accounts.py", "bulk_operations.py", "bulk_complete.py", "undo.py", "reports.py"}
"""What only pages can ask for."""
OF_A_FIELD = {"unique"}
"""What Django says of a field within an `invalid` request."""


def test_every_code_of_a_refusal_is_described() -> None:
    text = (ROOT / "docs/rest.md").read_text()
    sources = [*(ROOT / "engine/access").glob("*.py"), *(ROOT / "engine/services").rglob("*.py")]
    raised = {
        code
        for path in sources
        for code in re.findall(r'code="(\w+)"', path.read_text())
        if path.name not in PAGES_ONLY
    }
    own = {
        "invalid",
        "not_authenticated",
        "refused",
        "method_not_allowed",
        "too_large",
        "unsupported_media_type",
        "unavailable",
    }
    own |= {NotFound.code, KeyReused.code, "findings"}
    described = set(re.findall(r"^\| \d{3} \| `(\w+)` \| [^|]+ \| [^|]+ \|$", text, re.M))
    assert (raised | own) - described == OF_A_FIELD, "each with what it means and what to do"


def test_every_dependency_has_its_sentence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[\w.-]+", each)[0] for each in project["dependencies"]}  # type: ignore[index]
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## Dependencies\n")[2]
    rows = re.findall(r"^\| ([\w., -]+) \| \S", section, re.M)
    described = {name.strip() for row in rows for name in row.split(",")}
    assert names - described == set()
    assert described - names - {"dependency"} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []


def test_decisions_are_numbered_without_gap() -> None:
    numbers = [path.name[:4] for path in sorted((ROOT / "docs/decisions").glob("0*.md"))]
    assert numbers == [f"{number:04d}" for number in range(1, len(numbers) + 1)]
