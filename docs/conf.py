"""Configure the documentation site. Sphinx reads the pages from the project's root: their links work there and on the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parent.parent

project = "Workflow platform"
author = "The workflow platform's contributors"
project_copyright = author
(version,) = re.findall(r'^VERSION = "(.+)"$', (ROOT / "workflowplatform/version.py").read_text(), re.MULTILINE)
release = version

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "engine", "benchmarks", "locale", "site", "static", "templates", "tests", "var"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings: list[str] = []
highlight_language = "text"

html_theme = "furo"
html_title = f"Workflow platform {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "redirect.html"}
templates_path = ["_templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": {"color-brand-primary": "#3451b2", "color-brand-content": "#3451b2"},
    "dark_css_variables": {"color-brand-primary": "#9eb1ff", "color-brand-content": "#9eb1ff"},
}


class DropMermaid(SphinxTransform):
    """Leave out Mermaid diagrams: drawing them takes a script from outside, and the table above each says the same."""

    default_priority = 100

    def apply(self, **_options: Any) -> None:
        """Remove the blocks before they are highlighted."""
        for block in list(self.document.findall(nodes.literal_block)):
            if block.get("language") == "mermaid":
                block.parent.remove(block)


def setup(app: Sphinx) -> None:
    """Register what is ours."""
    app.add_transform(DropMermaid)
