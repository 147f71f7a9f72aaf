"""Write tabler.elements.min.css: the rules of Tabler's style sheet that name no class, which is all that our pages use.

    python static/vendor/tabler/shorten.py path/to/dist/css/tabler.min.css
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

NESTED = ("@media", "@supports", "@layer")
OF_A_CLASS = re.compile(r"\.[A-Za-z]|\[(?:data|class)")
A_VARIABLE = re.compile(r"(--[\w-]+):")


def rules_of(text: str) -> Iterator[tuple[str, str]]:
    """Return each rule as what is before its braces and what is between them."""
    at = 0
    while (opened := text.find("{", at)) >= 0:
        depth, end = 1, opened + 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield text[at:opened].rpartition(";")[2].strip(), text[opened + 1 : end - 1]
        at = end


def kept(text: str) -> str:
    """Return the rules for elements alone."""
    parts = []
    for head, body in rules_of(text):
        if head.startswith(NESTED):
            inside = kept(body)
            parts += [f"{head}{{{inside}}}"] if inside else []
        elif not head.startswith("@"):
            selectors = [one for one in split(head) if not OF_A_CLASS.search(one)]
            parts += [f"{','.join(selectors)}{{{body}}}"] if selectors else []
    return "".join(parts)


def split(head: str) -> list[str]:
    """Return the selectors of a rule; a comma inside of parentheses is none between them."""
    return re.split(r",(?![^(]*\))", head)


def without_unused(text: str) -> str:
    """Leave out variables that nothing reads, as long as there are any."""
    while True:
        read = set(re.findall(r"var\((--[\w-]+)", text))
        unused = set(A_VARIABLE.findall(text)) - read
        if not unused:
            return text
        names = "|".join(map(re.escape, unused))
        text = re.sub(rf"(?<=[{{;])(?:{names}):[^;}}]*(?:;|(?=}}))", "", text)
        text = re.sub(r"[^{}]+\{\}", "", text)


if __name__ == "__main__":
    whole = re.sub(r"/\*.*?\*/", "", Path(sys.argv[1]).read_text(encoding="utf-8"), flags=re.DOTALL)
    licence = "/* Tabler 1.6.1, MIT, https://tabler.io: its rules for elements, by shorten.py */\n"
    Path(__file__).with_name("tabler.elements.min.css").write_text(licence + without_unused(kept(whole)) + "\n", encoding="utf-8")
