"""Stop servers whose owner died without a word.

The owner holds the writing end of a pipe and never writes a farewell: when it dies, however it dies, the pipe closes
and the keeper ends what it was told about. Linux has PR_SET_PDEATHSIG for the same purpose; this works on macOS too,
and it insists. Run as a plain script by a bare interpreter (``-I -S``), so that it costs little; it imports nothing
of ours.

Lines on the pipe: ``+ PID SIGNAL`` keep, ``- PID`` forget, ``d FOLDER`` remove this folder at the end, ``quit`` all
is stopped.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

PATIENCE_SECONDS = 8.0


def main() -> None:
    """Read the owner's lines until it is gone, then stop what it left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kept: dict[int, int] = {}
    folders: list[str] = []
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "quit":
            return
        _note(word, rest, kept, folders)
    _stop_all(kept)
    for folder in folders:
        if Path(folder).name.startswith("wf-"):
            shutil.rmtree(folder, ignore_errors=True)


def _note(word: str, rest: str, kept: dict[int, int], folders: list[str]) -> None:
    if word == "+":
        pid, number = rest.split()
        kept[int(pid)] = int(number)
    elif word == "-":
        kept.pop(int(rest), None)
    elif word == "d":
        folders.append(rest)


def _stop_all(kept: dict[int, int]) -> None:
    for pid, number in kept.items():
        _send(pid, number)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and any(_lives(pid) for pid in kept):
        time.sleep(0.05)
    for pid in kept:
        _send_group(pid, signal.SIGKILL)


def _send(pid: int, number: int) -> bool:
    """Signal one process; false when it is gone."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def _lives(pid: int) -> bool:
    """Return whether it still runs; a dead one that nobody has collected yet does not."""
    if not _send(pid, 0):
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True


def _send_group(pid: int, number: int) -> None:
    """Signal a whole process group: every kept process leads its own."""
    try:
        os.killpg(pid, number)
    except OSError:
        return


if __name__ == "__main__":
    main()
