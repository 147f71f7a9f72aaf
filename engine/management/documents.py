"""Read authors' files, and print findings the way compilers do."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.extensions.step_kinds import registered_step_kinds
from engine.kernel.findings import ERROR, Finding
from engine.kernel.language.document_set import cut_documents
from engine.kernel.language.normalizer import Normalized, TenantFacts, normalize


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file; `above` counts the lines before it."""

    file: str
    source: str
    above: int = 0

    def checked(self, facts: TenantFacts | None = None, *, allow_not_yet: bool = False) -> Normalized:
        """Check the document; findings give their line in the whole file."""
        return normalize(self.source, facts, allow_not_yet, kinds=registered_step_kinds(), above=self.above)


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
    return [Document(file, piece.source, piece.above) for piece in cut_documents(text)]


def _unreadable(reason: str) -> Finding:
    return Finding("unreadable", ERROR, f"this file cannot be read: {reason}", 1, 1)


def finding_line(file: str, finding: Finding) -> str:
    """Write a finding as `file:line:column code message (hint)`."""
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"{file}:{finding.line}:{finding.column} {finding.code} {finding.message}{hint}"


def as_json(value: Any) -> str:
    """Write JSON for programs and for people's eyes."""
    return json.dumps(value, ensure_ascii=False, indent=2)
