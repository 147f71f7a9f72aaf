"""The look keeps its own rules: colours from one file, enough contrast, nothing named that is not there. No database."""

import re
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    path for path in (ROOT / "templates").rglob("*") if path.suffix in {".html", ".txt"} and "unfold" not in path.parts
]
"""All but those that replace a page of the admin's theme, with its classes and files."""
CODE = [
    path
    for room in ("tasks_inbox", "engine/diagram", "engine/presentation/narrative")
    for path in (ROOT / room).rglob("*.py")
]
CSS = list((ROOT / "static/css").glob("*.css"))
TOKENS = dict(
    re.findall(r"(--wf-[\w-]+): light-dark\((#\w{6}, #\w{6})\)", (ROOT / "static/css/tokens.css").read_text())
)
TOKENS["--wf-on-accent"] = "#ffffff, #ffffff"

READ_ON = {
    ("text", "text-2", "text-3"): ("canvas", "surface", "hover", "sunken"),
    ("text", "text-2", "accent-text"): ("selected", "accent-soft"),
    ("accent-text", "danger-text", "warning-text", "good-text"): ("canvas", "surface", "hover"),
    ("danger-text", "text"): ("danger-soft",),
    ("warning-text", "text"): ("warning-soft",),
    ("good-text", "text"): ("good-soft",),
    ("on-accent",): ("accent", "accent-hover"),
    ("on-ink",): ("ink",),
}
SEEN_ON = {("control", "accent", "danger", "warning", "good"): ("surface", "canvas")}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(token: str, ground: str, theme: int) -> float:
    lights = [luminance(TOKENS[f"--wf-{name}"].split(", ")[theme]) for name in (token, ground)]
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("pairs", "least"), [(READ_ON, 4.5), (SEEN_ON, 3.0)], ids=["text", "marks"])
def test_contrast_is_enough(pairs: dict[tuple[str, ...], tuple[str, ...]], least: float, theme: int) -> None:
    found = {
        (token, ground): round(contrast(token, ground, theme), 2)
        for tokens, grounds in pairs.items()
        for token, ground in product(tokens, grounds)
    }
    assert {pair: ratio for pair, ratio in found.items() if ratio < least} == {}


def test_colours_stand_in_the_token_file_alone() -> None:
    literal = re.compile(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(|oklch\(")
    for path in CSS:
        text = re.sub(r'url\("data:[^"]*"\)|/\*.*?\*/', "", path.read_text(), flags=re.DOTALL)
        if path.name != "tokens.css":
            assert literal.findall(text) == [], path.name


def test_every_variable_in_use_is_defined() -> None:
    everything = "".join(path.read_text() for path in CSS)
    assert set(re.findall(r"var\((--wf-[\w-]+)", everything)) <= set(re.findall(r"(--wf-[\w-]+):", everything))


def test_own_classes_carry_the_prefix() -> None:
    """Mails have a style sheet of their own, which no page shares."""
    used = {
        name
        for page in PAGES
        if "mails" not in page.parts
        for value in re.findall(r'\sclass="([^"{]*)"', page.read_text())
        for name in value.split()
    }
    assert {name for name in used if not name.startswith("wf-")} == set()


def named_icons() -> set[str]:
    pages = "".join(page.read_text() for page in PAGES if "admin" not in page.parts)
    code = "".join(path.read_text() for path in CODE)
    shapes = {path.stem for path in (ROOT / "templates/icons").glob("*.svg")}
    return set(re.findall(r'{% icon "([\w-]+)"', pages)) | (shapes & set(re.findall(r'"([a-z][\w-]+)"', code)))


def test_every_icon_named_is_there_and_every_icon_there_is_named() -> None:
    assert {path.stem for path in (ROOT / "templates/icons").glob("*.svg")} == named_icons()


def test_every_static_file_named_is_there() -> None:
    named = {name for page in PAGES for name in re.findall(r"{% static '([^']+)' %}", page.read_text())}
    assert named
    assert {name for name in named if not (ROOT / "static" / name).is_file()} == set()
    for path in CSS:
        for name in re.findall(r'url\("(\.\.[^"]+)"\)', path.read_text()):
            assert (path.parent / name).resolve().is_file(), name


def test_vendored_folders_have_a_licence_and_a_line() -> None:
    listed = (ROOT / "static/vendor/README.md").read_text()
    for folder in (ROOT / "static/vendor").iterdir():
        if folder.is_dir():
            assert (folder / "LICENSE").is_file(), folder.name
            assert f"| {folder.name} |" in listed


def test_style_files_say_their_charset() -> None:
    assert {"tokens.css"} < {path.name for path in CSS}
    for path in CSS:
        assert path.read_text().startswith('@charset "utf-8";'), path.name
