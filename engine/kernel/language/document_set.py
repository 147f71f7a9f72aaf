"""Cut a text into its documents: several, separated by `---`, are one set."""

import re
from dataclasses import dataclass

_BOUNDARY = re.compile(r"^---(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Piece:
    """One document of a text; `above` counts the lines before it."""

    source: str
    above: int = 0


def cut_documents(text: str) -> list[Piece]:
    """Cut a text at its `---` lines; what holds nothing but space and comments is no document, unless it is all there is."""
    found = list(_BOUNDARY.finditer(text))
    starts = [0, *(match.end() for match in found)]
    ends = [*(match.start() for match in found), len(text)]
    parts = [(begin, text[begin:end]) for begin, end in zip(starts, ends, strict=True)]
    full = [
        part
        for part in parts
        if any(line.strip() and not line.lstrip().startswith("#") for line in part[1].splitlines())
    ] or parts[:1]
    return [_piece(text, begin, part) for begin, part in full]


def _piece(text: str, begin: int, part: str) -> Piece:
    stripped = part.removeprefix("\n") if begin else part
    return Piece(stripped, text.count("\n", 0, begin + len(part) - len(stripped)))
