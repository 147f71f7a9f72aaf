"""Find phrases that no text of this project uses (`tests/banned_phrases.toml`).

`python -m tests.plain_english engine/services docs/inbox.md` lists what places still say.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "banned_phrases.toml"
SUFFIXES = frozenset({".py", ".html", ".txt", ".md", ".js", ".yaml", ".svg", ".css", ""})
LEFT_OUT = re.compile(
    r"(?:^|/)migrations/|^static/vendor/|^templates/icons/|^requirements|^LICENSE|^\.|^tests/banned_phrases"
    r"|^tests/.*plain_english\.py$|/vectors/|/fixtures/"
)
"""History, files of others, and what names the phrases to find them."""
DJANGO = re.compile(r"\{#.*?#\}|\{% comment .*?endcomment %\}|\{%.*?%\}|\{\{.*?\}\}", re.S)
MARKUP = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.S)
SPOKEN = re.compile(r"\b(?:aria-label|title|placeholder|alt|value)=\"([^\"]*)\"")
QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
PARAGRAPH = re.compile(r"\S.*(?:\n(?!\s*(?:\n|$|[-*|#] )).*)*")
CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", re.S)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A banned phrase in a file."""

    path: str
    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: “{self.phrase}” (write: {self.instead})"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A pattern of what is not said, and what is said instead."""

    pattern: re.Pattern[str]
    instead: str


@cache
def phrases() -> tuple[Phrase, ...]:
    return tuple(Phrase(_pattern(row["find"]), row["instead"]) for row in _list()["phrase"])


@cache
def allowed() -> re.Pattern[str]:
    return _pattern("|".join(f"(?:{row['words']})" for row in _list()["allowed"]))


def not_yet() -> list[str]:
    """List the places that are not rewritten yet."""
    return list(_list()["not_yet"]["places"])


@cache
def _list() -> dict:
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{text})(?!\w)", re.IGNORECASE)


def files(place: str = ".") -> list[str]:
    """List the files that people write, under a place."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", place],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(name for name in listed.stdout.split("\0") if name and not LEFT_OUT.search(name))
    return [name for name in names if Path(name).suffix in SUFFIXES and (ROOT / name).is_file()]


def findings(name: str) -> list[Finding]:
    """Find every banned phrase in what people read of a file."""
    text = (ROOT / name).read_text(encoding="utf-8", errors="ignore")
    return sorted({found for line, words in prose(name, text) for found in in_words(name, line, words)})


def in_words(name: str, line: int, words: str) -> Iterator[Finding]:
    """Find the phrases in words that begin at a line, one paragraph after another."""
    for paragraph in PARAGRAPH.finditer(words):
        first = line + words.count("\n", 0, paragraph.start())
        text = paragraph.group()
        plain = " ".join(text.split())
        innocent = [found.span() for found in allowed().finditer(plain)]
        lines = [number for number, row in enumerate(text.split("\n"), first) for _word in row.split()]
        for phrase in phrases():
            for found in phrase.pattern.finditer(plain):
                if not any(begin <= found.start() < end for begin, end in innocent):
                    at = plain.count(" ", 0, found.start())
                    yield Finding(name, lines[at], found.group(), phrase.instead)


def prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Cut out what a person reads: texts with the lines at which they begin."""
    if name.endswith(".py"):
        yield from _of_python(text, only_remarks=name.startswith(("tests/", "benchmarks/")))
    elif name.endswith(".html"):
        yield from _of_page(text)
    elif name.endswith(".md"):
        yield 1, CODE.sub(_blank, text)
    else:
        yield 1, text


def _of_python(text: str, only_remarks: bool) -> Iterator[tuple[int, str]]:
    """Read strings, docstrings and comments; of tests only the last two, since data of tests may be anything."""
    tree = ast.parse(text)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if only_remarks and id(node) not in remarks:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(_said(part) for part in node.values)
        elif (
            isinstance(node, ast.Constant)
            and id(node) not in inside
            and (" " in _said(node) or _said(node)[:1].isupper())
        ):
            yield node.lineno, _said(node)
    yield from _comments(text)


def _said(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "…"


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Join comments of neighbouring lines, since a phrase may be broken."""
    begins, last, words = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1:
            yield begins, words
            begins, words = token.start[0], ""
        last = token.start[0]
        words += ("\n" if words else "") + token.string.lstrip("# ")
    yield begins, words


def _of_page(text: str) -> Iterator[tuple[int, str]]:
    """Read the text of a page, the words in its tags and the texts that are translated."""
    for found in DJANGO.finditer(text):
        if found.group().startswith("{#"):
            yield _line(text, found.start()), found.group()
            continue
        for words in QUOTED.finditer(found.group()):
            if " " in words.group() or words.group()[1:2].isupper():
                yield _line(text, found.start()), words.group(1) or words.group(2) or ""
    plain = DJANGO.sub(_blank, text)
    for found in SPOKEN.finditer(plain):
        yield _line(plain, found.start()), found.group(1)
    yield 1, MARKUP.sub(_blank, plain)


def _line(text: str, at: int) -> int:
    return 1 + text.count("\n", 0, at)


def _blank(found: re.Match[str]) -> str:
    """Keep the lines of what is left out, so that positions stay true."""
    return " …" + "\n" * found.group().count("\n")


def main() -> int:
    """Print the findings of the places that are named."""
    found = [one for place in sys.argv[1:] or ["."] for name in files(place) for one in findings(name)]
    sys.stdout.writelines(f"{one}\n" for one in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
