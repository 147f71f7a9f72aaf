"""Documents name what exists: links, paths, code names, settings, commands; and the site builds without outside requests."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from workflowplatform.servers.paths import PROJECT
from workflowplatform.version import VERSION

PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md"), *(PROJECT / ".github").rglob("*.md")])
HISTORY = {"CHANGELOG.md"}
"""What tells of earlier releases may name what is gone."""
SPAN = re.compile(r"(?<!`)(\bnew )?`([^`\n]+)`(?!`)", re.IGNORECASE)
ROUTE = re.compile(r"(GET|POST|PUT|DELETE) ")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
TOP = {
    path.name for path in PROJECT.iterdir() if path.is_dir() and not path.name.startswith(".") and path.name != "var"
}
NAMED = re.compile(r"`([A-Za-z_]\w*)` in `([\w./-]+\.\w+)`")
COMMANDS = {
    "check", "collectstatic", "makemigrations", "migrate", "rqworker", "shell",
}  # fmt: skip
"""Django's and django-rq's own that the documents name."""

pages = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(PROJECT).as_posix())


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text())


def paths_in(text: str) -> Iterator[tuple[bool, str]]:
    """Find the paths that a text names, and whether each is one that the reader creates."""
    for new, span in SPAN.findall(text):
        for word in () if ROUTE.match(span) else span.split():
            path = word.strip("().,:;").partition("::")[0]
            if "/" in path and path.split("/")[0] in TOP and not re.search(r"[<>{}$…|=]", path):
                yield bool(new), path


@pages
def test_paths_exist_and_files_to_create_do_not(page: Path) -> None:
    if page.name in HISTORY:
        return
    wrong = [path for new, path in paths_in(prose(page)) if bool(list(PROJECT.glob(path.rstrip("/")))) is new]
    assert wrong == []


@pages
def test_modules_exist(page: Path) -> None:
    if page.name in HISTORY:
        return
    spans = [span for _new, span in SPAN.findall(prose(page))]
    modules = [span for span in spans if re.fullmatch(r"(engine|tasks_inbox|workflowplatform|tests)(\.\w+)+", span)]
    assert [name for name in modules if not exists_in_code(name)] == []


def exists_in_code(name: str) -> bool:
    """Return whether a dotted name is a module, or a name in one."""
    parts = name.split(".")
    if (PROJECT / Path(*parts)).is_dir() or (PROJECT / Path(*parts)).with_suffix(".py").is_file():
        return True
    module = (PROJECT / Path(*parts[:-1])).with_suffix(".py")
    return module.is_file() and re.search(rf"\b{parts[-1]}\b", module.read_text()) is not None


@pages
def test_names_are_in_the_files_where_the_page_says(page: Path) -> None:
    wrong = [
        (name, path)
        for name, path in NAMED.findall(prose(page))
        if not (PROJECT / path).is_file() or not re.search(rf"\b{name}\b", (PROJECT / path).read_text())
    ]
    assert wrong == []


@cache
def code() -> str:
    folders = ("engine", "tasks_inbox", "workflowplatform", "tests", "benchmarks", "deploy", "bin")
    files = [file for folder in folders for file in (PROJECT / folder).rglob("*") if file.is_file()]
    return "\n".join(
        file.read_text(errors="ignore") for file in files if file.suffix != ".pyc" and file != Path(__file__)
    )


@pages
def test_settings_and_commands_exist(page: Path) -> None:
    if page.name in HISTORY:
        return
    text = page.read_text()
    examples = {"WORKFLOW_SMS_URL"}
    settings = set(re.findall(r"\bWORKFLOW_[A-Z_]*[A-Z]\b(?!_?…|_?\*)", text)) - examples
    assert {name for name in settings if not re.search(rf"\b{name}\b", code())} == set()
    commands = set(re.findall(r"manage\.py ([a-z_]+)", text)) - COMMANDS
    there = {path.stem for path in PROJECT.glob("*/management/commands/*.py")}
    assert commands - there == set()


def anchors_of(page: Path) -> set[str]:
    """Make the anchors of a page's headings as GitHub and the site do."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", one).lower() for one in headings]
    return {re.sub(r"[^\w\- ]", "", one.replace("`", "")).strip().replace(" ", "-") for one in plain}


@pages
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link and not (target.exists() and (not anchor or anchor in anchors_of(target))):
            wrong.append(link)
    assert wrong == []


def test_version_is_the_same_everywhere() -> None:
    assert tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"] == VERSION
    headings = re.findall(r"^## (.+)$", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert next(heading for heading in headings if heading != "Unreleased") == VERSION
    assert (PROJECT / f"docs/releases/{VERSION}.md").read_text().startswith(f"# Workflow platform {VERSION}\n")


def listed_in_tree(heading: str) -> set[str]:
    """Read the first column of one table of the tree."""
    _, _, table = (PROJECT / "ARCHITECTURE.md").read_text().partition(f"| `{heading}` | holds |\n|---|---|\n")
    rows = table.partition("\n\n")[0].splitlines()
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[1])}


@pytest.mark.parametrize("folder", ["engine/", "engine/kernel/"])
def test_tree_of_the_architecture_is_what_is_on_disk(folder: str) -> None:
    there = {
        path.name + "/" * path.is_dir()
        for path in (PROJECT / folder).iterdir()
        if path.is_dir() or path.suffix == ".py"
    }
    assert listed_in_tree(folder) == there - {"__init__.py", "__pycache__/"}


def test_every_folder_is_in_the_architecture() -> None:
    text = (PROJECT / "ARCHITECTURE.md").read_text()
    assert {name for name in TOP - {"site"} if f"`{name}/`" not in text} == set()


def test_layers_of_the_architecture_are_those_of_the_contract() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    (contract,) = (one for one in project["tool"]["importlinter"]["contracts"] if one["id"] == "layers")
    layers = [set(re.findall(r"\w+", layer)) - {"migrations"} for layer in contract["layers"]]
    _, _, told = (PROJECT / "ARCHITECTURE.md").read_text().partition("From top to bottom:\n\n")
    spans = re.findall(r"`([^`]+)`", told.partition("\n\n")[0])
    assert [set(span.split(", ")) for span in spans] == [layer for layer in layers if layer != {"apps"}]


def test_every_decision_is_listed() -> None:
    listed = re.findall(r"\]\((0[^)]+\.md)\)", (PROJECT / "docs/decisions/README.md").read_text())
    assert listed == sorted(path.name for path in (PROJECT / "docs/decisions").glob("0*.md"))


def test_wrong_paths_and_names_would_be_found() -> None:
    text = "`engine/no_such.py`, `engine/kernel/`, new `engine/apps.py`, new `engine/fresh.py` and `pytest tests/gone.py::x`"
    found = list(paths_in(text))
    assert found == [
        (False, "engine/no_such.py"),
        (False, "engine/kernel/"),
        (True, "engine/apps.py"),
        (True, "engine/fresh.py"),
        (False, "tests/gone.py"),
    ]
    assert not exists_in_code("engine.dispatch.no_such")
    assert exists_in_code("engine.dispatch.calls.Intent")


class Loads(HTMLParser):
    """Collect what a page makes a browser fetch by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fetched = ("src", "srcset", "data", "poster", "action", *(("href",) if tag in {"link", "use", "image"} else ()))
        relation = dict(attrs).get("rel") or ""
        if relation not in {"canonical", "license", "author"}:
            self.found += [value or "" for name, value in attrs if name in fetched]


OUTSIDE = re.compile(r"^\s*(https?:)?//")
FETCHED_BY_CSS = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)]*)|@import\s+['\"]((?:https?:)?//[^'\"]*)")


def outside_requests(site: Path) -> list[tuple[str, str]]:
    """Find what pages and styles of a site would fetch from elsewhere."""
    found = []
    for file in site.rglob("*.html"):
        loads = Loads()
        loads.feed(file.read_text())
        found += [(file.name, address) for address in loads.found if OUTSIDE.match(address)]
    for file in site.rglob("*.css"):
        found += [(file.name, one or two) for one, two in FETCHED_BY_CSS.findall(file.read_text())]
    return found


def test_outside_requests_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<a href="https://a.example"></a><img src="//b.example/x.png"><link rel="stylesheet" href="https://c.example/y.css">'
    )
    (tmp_path / "style.css").write_text("@import 'https://d.example/z.css'; a { background: url(https://e.example/f) }")
    assert len(outside_requests(tmp_path)) == 4


@pytest.mark.slow
def test_site_builds_without_warnings_and_fetches_nothing_from_outside(tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = subprocess.run([PROJECT / "bin/docs", site], capture_output=True, text=True, check=False)
    if "could not be fetched" in done.stderr:
        pytest.skip("no package index can be reached from here")
    assert done.returncode == 0, done.stderr
    assert (site / "index.html").is_file()
    assert (site / "docs/rest.html").is_file()
    assert outside_requests(site) == []
