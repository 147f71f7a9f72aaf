"""Every picture of the documents is shown by one of them, named in one place, and taken by a test."""

from __future__ import annotations

import re

import pytest

from tests.browser.pictures import FACE, FACED, FOLDER, KEPT, is_known
from tests.platform.test_documentation import PAGES
from workflowplatform.servers.paths import PROJECT

SHOWN = re.compile(r"!\[[^\]]+\]\((?:docs/|\.\./)?pictures/([\w-]+)\.png\)")


def in_folder() -> set[str]:
    return {path.stem for path in FOLDER.glob("*.png")}


def test_every_picture_is_shown_and_named() -> None:
    shown = {name for page in PAGES for name in SHOWN.findall(page.read_text())}
    assert in_folder() - shown == set()
    assert shown - in_folder() == set()
    assert in_folder() - KEPT == set()


def test_every_name_is_taken_by_a_test() -> None:
    taking = "\n".join(path.read_text() for path in (PROJECT / "tests" / "browser").glob("test_*.py"))
    stems = {FACE.sub("", name) if FACE.sub("", name) in FACED else name for name in KEPT}
    untaken = [name for name in stems | FACED if not re.search(rf'"{name}["-]', taking)]
    assert untaken == []


@pytest.mark.parametrize(("name", "known"), [("team", True), ("redo-de-360", True), ("redo", False), ("other", False)])
def test_a_name_that_nobody_knows_is_refused(name: str, known: bool) -> None:
    assert is_known(name) is known
