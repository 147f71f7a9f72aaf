"""Texts are plain English: none of them uses a phrase of `tests/banned_phrases.toml`."""

import pytest

from tests import plain_english

SPLIT = ("engine", "workflowplatform", "templates", "static", "tests", "docs")
"""Folders whose entries are places of their own."""


def place_of(name: str) -> str:
    """Return the place in the list to which a file belongs."""
    parts = name.split("/")
    return "/".join(parts[:2] if parts[0] in SPLIT else parts[:1])


FILES: dict[str, list[str]] = {}
for file in plain_english.files():
    FILES.setdefault(place_of(file), []).append(file)


@pytest.mark.parametrize("place", sorted(FILES))
def test_texts_are_plain_english(place: str) -> None:
    found = [finding for name in FILES[place] for finding in plain_english.findings(name)]
    if place in plain_english.not_yet():
        assert found, f"{place} is clean: take it off the list in tests/banned_phrases.toml"
    else:
        assert found == [], "\n".join(map(str, found))


def test_the_list_names_places_that_exist() -> None:
    assert set(plain_english.not_yet()) - FILES.keys() == set()


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("engine/a.py", '"""Tell whether it is."""\nx = _("Mend this")  # a way beside it\ny = "house"\n', [1, 2, 2]),
        ("engine/a.py", 'x = f"{who} goes on"\ny = (\n    "one "\n    "in force"\n)\n', [1, 3]),
        (
            "engine/a.py",
            '"""Say it in short."""\nx = "It is held; who has it gives it back"\ny = "A short telling."\n',
            [1, 2, 3],
        ),
        ("engine/a.py", "# put\n# off\n", [1]),
        ("tests/a.py", '"""Stand."""\nx = "a house of its own"\n', [1]),
        ("a.html", '<p class="door">\n{% translate "Nothing here for you" %}</p>\n<b title="a letter">x</b>', [2, 3]),
        ("a.html", "{% blocktranslate %}Somebody\nwaits.{% endblocktranslate %}{# beside #}", [1, 2]),
        ("a.md", "One row a\nsubject. `house`\n\n- Who waits is let in.\n- Who waits?\n", [1, 4]),
        ("a.md", "Use small letters and digits. A dead letter. Once a day. Uri stands in for Ada.\n", []),
    ],
)
def test_a_banned_phrase_is_found(name: str, text: str, lines: list[int]) -> None:
    found = [
        one for line, words in plain_english.prose(name, text) for one in plain_english.in_words(name, line, words)
    ]
    assert sorted(one.line for one in found) == lines
