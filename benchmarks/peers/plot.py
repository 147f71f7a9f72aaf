"""Draw what was found, light and dark: `.venv-peers/bin/python -m benchmarks.peers.plot FOLDER` reads the figures as JSON."""

import json
import sys
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one picture."""

    file: str
    paper: str
    ink: str
    quiet: str
    ours: str
    others: str
    floor: str


THEMES = (
    Theme("peers.png", "#ffffff", "#1b1f24", "#57606a", "#1f6feb", "#afb8c1", "#d8dee4"),
    Theme("peers_dark.png", "#0d1117", "#e6edf3", "#9198a1", "#4c9aff", "#59636e", "#30363d"),
)


def draw(panels: list[dict[str, Any]], theme: Theme, folder: Path) -> None:
    """Draw one panel for each work and number of clients, two in a row: cases per second of each competitor."""
    lines = (len(panels) + 1) // 2
    figure, places = plt.subplots(lines, 2, figsize=(8.4, 3.2 * lines), facecolor=theme.paper, squeeze=False)
    for place, panel in zip_longest(places.flat, panels):
        if panel:
            _panel(place, panel, theme)
        else:
            place.set_visible(False)
    figure.tight_layout(w_pad=2.5)
    figure.savefig(folder / theme.file, dpi=144, facecolor=theme.paper, metadata={"Software": None})
    plt.close(figure)


def _panel(place: Any, panel: dict[str, Any], theme: Theme) -> None:
    names, rates = [bar["who"] for bar in panel["bars"]], [bar["rate"] for bar in panel["bars"]]
    colours = [theme.ours if name == "ours" else theme.floor if name == "floor" else theme.others for name in names]
    bars = place.barh(range(len(names)), rates, color=colours, height=0.68)
    place.set_yticks(range(len(names)), names, color=theme.ink, fontsize=10)
    place.bar_label(bars, labels=[f"{rate:,.0f}" for rate in rates], padding=4, color=theme.ink, fontsize=10)
    place.invert_yaxis()
    place.set_title(panel["title"], loc="left", color=theme.ink, fontsize=11)
    place.set_facecolor(theme.paper)
    place.set_xlim(0, 1.2 * max(rates))
    place.xaxis.set_visible(False)
    place.tick_params(length=0)
    for spine in place.spines.values():
        spine.set_visible(False)


def main() -> None:
    """Read panels from standard input and draw both pictures."""
    panels = json.load(sys.stdin)
    for theme in THEMES:
        draw(panels, theme, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
