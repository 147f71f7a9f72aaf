"""Read the words of an expression, and spell those that are the language's own as the library knows them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from engine.kernel.expressions.functions import CALLABLE

_TOKEN = re.compile(
    r"""(?P<string>[bB]?[rR][bB]?(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n]*"|'[^'\n]*')"""
    r"""|[bB]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
    r"""|(?P<skip>\s+|//[^\n]*)|(?P<number>\d[\w.]*)|(?P<name>[A-Za-z_]\w*)|(?P<other>.)""",
    re.DOTALL,
)


OPERATED = "operated"
"""Behind the name of a result: whether an operator intervened there (operator_marks.py)."""
_OPERATED_PATH = re.compile(rf"""(?P<q>['"])\w+\.{OPERATED}(?P=q)""")


@dataclass(frozen=True, slots=True)
class Token:
    """One word or sign of an expression."""

    kind: str
    text: str
    offset: int


def tokens_of(text: str) -> Iterator[Token]:
    """Return the words of an expression, spaces and comments left out."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield Token(str(match.lastgroup), match.group(), match.start())


@lru_cache(maxsize=8192)
def own_names(text: str) -> str:
    """Write calls of our functions as the environment declares them."""
    tokens = [*tokens_of(text), Token("other", "", len(text))]
    for place in range(len(tokens) - 2, -1, -1):
        token = tokens[place]
        free = place == 0 or tokens[place - 1].text != "."
        if free and token.kind == "name" and token.text in CALLABLE and tokens[place + 1].text == "(":
            text = f"{text[: token.offset]}wf_{text[token.offset :]}"
        elif free and token.text == "result":
            text = _with_operated(text, tokens, place)
    return text


def _with_operated(text: str, tokens: list[Token], place: int) -> str:
    """Rewrite `result.<id>.operated` as what is kept next to the results, which is false where there is none."""
    end = Token("other", "", len(text))
    words = [one.text for one in tokens[place + 1 : place + 6]]
    if words[::2][:2] == [".", "."] and words[3:4] == [OPERATED] and words[4:5] != ["("]:
        name, last = tokens[place + 2].text, tokens[place + 4]
        begin, stop, found = (
            tokens[place].offset,
            last.offset + len(last.text),
            f"wf_get(result, '{name}${OPERATED}', false)",
        )
        if [one.text for one in tokens[max(place - 2, 0) : place]] == ["has", "("] and words[4:5] == [")"]:
            begin, stop, found = (
                tokens[place - 2].offset,
                tokens[place + 5].offset + 1,
                f"('{name}${OPERATED}' in result)",
            )
        return text[:begin] + found + text[stop:]
    literal = tokens[place + 2] if len(tokens) > place + 2 else end
    if words[:1] == [","] and _OPERATED_PATH.fullmatch(literal.text):
        spelled = literal.text.replace(f".{OPERATED}", f"${OPERATED}")
        return text[: literal.offset] + spelled + text[literal.offset + len(literal.text) :]
    return text
