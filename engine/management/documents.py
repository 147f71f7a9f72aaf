"""Read authors' files, and tell findings the way compilers do."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.kernel.findings import ERROR, Finding

_BOUNDARY = re.compile(r"^---(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file; `above` counts the lines before it."""

    file: str
    source: str
    above: int = 0

    def located(self, finding: Finding) -> Finding:
        """Return a finding with its line in the whole file."""
        return replace(finding, line=finding.line + self.above)


class Unreadable(Exception):
    """A file that cannot be read as text; carries the finding that says so."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def read_file(file: str) -> list[Document]:
    """Read a file's documents; `-` is standard input."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise Unreadable(_unreadable(problem.strerror or "it cannot be opened")) from problem
    except UnicodeDecodeError as problem:
        raise Unreadable(_unreadable("it is not UTF-8 text")) from problem
    return list(_documents(file, text))


def _unreadable(reason: str) -> Finding:
    return Finding("unreadable", ERROR, f"this file cannot be read: {reason}", 1, 1)


def _documents(file: str, text: str) -> Iterator[Document]:
    """Cut a text at its `---` lines; what holds nothing but space and comments is no document, unless it is all there is."""
    starts = [0, *(match.end() for match in _BOUNDARY.finditer(text))]
    ends = [*(match.start() for match in _BOUNDARY.finditer(text)), len(text)]
    parts = [(begin, text[begin:end]) for begin, end in zip(starts, ends, strict=True)]
    full = [part for part in parts if _has_content(part[1])] or parts[:1]
    for begin, part in full:
        stripped = part.removeprefix("\n") if begin else part
        begin += len(part) - len(stripped)
        yield Document(file, stripped, text.count("\n", 0, begin))


def _has_content(part: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in part.splitlines())


def finding_line(file: str, finding: Finding) -> str:
    """Write a finding as `file:line:column code message (hint)`."""
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"{file}:{finding.line}:{finding.column} {finding.code} {finding.message}{hint}"


def as_json(value: Any) -> str:
    """Write JSON for programs and for people's eyes."""
    return json.dumps(value, ensure_ascii=False, indent=2)
