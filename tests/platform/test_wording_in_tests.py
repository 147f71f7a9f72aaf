"""Tests of pages go by hooks, not by words: no assertion repeats a text of the product (docs/testing.md)."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from workflowplatform.i18n import catalogues as wording

ROOMS = ("inbox", "accounts", "admin", "browser", "api", "services", "isolation", "access")
LOOKS_FOR = frozenset(
    {"get_by_text", "get_by_label", "get_by_role", "get_by_placeholder", "filter", "locator"}
    | {"to_have_text", "to_contain_text", "not_to_contain_text", "raises"}
)
"""Calls by which a test looks for words."""
ENGLISH_ONLY = (
    "engine/admin",
    "workflowplatform/accounts/admin",
    "workflowplatform/admin_site",
    "templates/admin",
    "templates/django_rq",
    "templates/unfold",
)
"""Folders of the admin, whose texts are in no catalogue."""
OWN_WORDS = frozenset({"Done", "Approve", "Last day", "Reject", "Comment", "Day", "Name", "Note", "Received", "Value"})
"""Words of the product that test data has too."""
PLACES = re.compile(r"%\(\w+\)[sd]|%%")
HERE = Path(__file__).resolve().parents[1]
UNTRANSLATED = tuple(HERE.parent / "engine" / name for name in ("api", "services", "access", "audit", "storage"))
"""Where refusals are written in English only: programs read their codes."""


@cache
def fragments() -> frozenset[str]:
    """List what the product says: every text, cut where a value is filled in."""
    translated = set(wording.words_in(wording.texts()))
    said = list(translated)
    said += [
        words for folder in ENGLISH_ONLY for words in texts_in(HERE.parent / folder) if words.strip().count(" ") > 1
    ]
    said += [
        words for room in UNTRANSLATED for path in room.rglob("*.py") for words in literals(path) if is_sentence(words)
    ]
    cut = {part.strip(" .,:;“”…") for words in said for part in PLACES.split(words)}
    return frozenset(part for part in cut if " " in part or part in translated)


def texts_in(folder: Path) -> Iterator[str]:
    """List the texts of a folder: what its templates translate, and literals of several words in its modules."""
    for path in folder.rglob("*.html"):
        for text in wording.texts_in(wording.page_source(path)):
            yield from [text] if isinstance(text, str) else text
    for path in folder.rglob("*.py"):
        yield from (words for words in literals(path) if words.strip().count(" ") > 1)


def literals(path: Path) -> Iterator[str]:
    """Read the strings of a module, its docstrings left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def is_sentence(words: str) -> bool:
    """Return whether a literal is a sentence, or begins one before a value is filled in."""
    return len(words.split()) > 2 and words.split()[0].istitle()


def is_said(words: str) -> bool:
    """Return whether words of a test are words of the product: a part of a text, or around one."""
    words = words.strip(" .,:;“”…^$")
    if words in OWN_WORDS or not re.search(r"[A-Za-zÄÖÜäöü]{2}", words):
        return False
    if words.count(" ") < 2 and not words[0].isupper():
        return False
    if " " not in words:
        return words in fragments()
    return any(words in part or (part.count(" ") > 1 and part in words) for part in fragments())


def sentences_in(source: str) -> Iterator[tuple[int, str]]:
    """Find the texts of the product that a module's tests assert, with their lines; marked tests may."""
    for node in _unmarked(ast.parse(source)):
        if isinstance(node, ast.Assert):
            looked_for = _words(node.test, least=1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS_FOR:
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            looked_for = (words for argument in arguments for words in _words(argument, least=0))
        else:
            continue
        yield from ((node.lineno, words) for words in looked_for if is_said(words))


def _words(node: ast.AST, least: int) -> Iterator[str]:
    """Read the strings under a node that have more than so many blanks in them."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.count(" ") >= least:
            yield each.value


def _unmarked(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through a module past what is marked as testing words."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and any(
            "mark.wording" in ast.unparse(one) for one in child.decorator_list
        ):
            continue
        yield child
        yield from _unmarked(child)


def modules() -> list[Path]:
    found = [path for room in ROOMS for path in sorted((HERE / room).glob("*.py"))]
    return [path for path in found if "pytestmark = pytest.mark.wording" not in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_assertion_repeats_a_text_of_the_product(path: Path) -> None:
    found = sorted(set(sentences_in(path.read_text(encoding="utf-8"))))
    assert found == [], "use a hook, a code or the table from which the words come: docs/testing.md"


def test_a_repeated_text_would_be_found() -> None:
    text = next(one for one in wording.words_in(wording.texts()) if one.count(" ") > 3 and "%" not in one)
    part = " ".join(text.split()[:3])
    source = f"""
def test_a():
    assert {text!r} in page
    page.get_by_text({part!r})
    assert "Ada likes {text}" in page
    assert "own data of a test" in page

@pytest.mark.wording
def test_b():
    assert {text!r} in page
"""
    assert sorted({line for line, _words in sentences_in(source)}) == [3, 4, 5]
