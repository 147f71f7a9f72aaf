"""Find the Chromium that browser tests drive, and install it where this machine allows."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
INSTALL_SECONDS = 300


def find_chromium() -> str | None:
    """Answer the path of a Chromium: the one WORKFLOW_CHROMIUM names, else one on the PATH."""
    named = os.environ.get("WORKFLOW_CHROMIUM")
    if named:
        return named if os.access(named, os.X_OK) else None
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    return found or (str(MAC) if MAC.exists() else None)


def find_or_install_chromium() -> str | None:
    """Find one, after installing it where root has apt-get; None where that is not possible."""
    if found := find_chromium():
        return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
    return find_chromium()


def _install() -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        try:
            subprocess.run(
                ["apt-get", "-qq", *words], env=environment, capture_output=True, timeout=INSTALL_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return
