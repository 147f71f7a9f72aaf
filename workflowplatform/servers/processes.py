"""Start child processes that cannot outlive their owner, and stop them in order.

Every child leads its own session, so that a Ctrl-C at the terminal reaches the owner alone and the order of stopping
stays ours. A child first drops rights and only then asks for PR_SET_PDEATHSIG, because changing the user clears it;
the request is bound to the thread that forks, so only the main thread may start children. The keeper (keeper.py)
covers systems without that call.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from workflowplatform.servers import paths

PR_SET_PDEATHSIG = 1
STOPS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
# Loaded here, while the interpreter's own folders are still readable: after dropping rights they may not be.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


@dataclass(frozen=True, slots=True)
class Child:
    """Hold one running child and the signal that asks it to end."""

    name: str
    process: subprocess.Popen[bytes]
    farewell: signal.Signals

    def alive(self) -> bool:
        """Return whether it still runs."""
        return self.process.poll() is None


class ProcessGroup:
    """Own a group of processes: none of them survives its owner."""

    def __init__(self) -> None:
        """Start the keeper before anything that would need it."""
        self.children: list[Child] = []
        self._folders: list[Path] = []
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
        unprivileged: bool = False,
        farewell: signal.Signals = signal.SIGTERM,
        folder: Path | None = None,
        handed_over: Sequence[int] = (),
    ) -> Child:
        """Start one child and tell the keeper about it; no signal to us can come between the two."""
        output = log.open("ab") if log else None
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        try:
            process = _spawn(command, output, environment, unprivileged, farewell, folder, handed_over)
            child = Child(name=name, process=process, farewell=farewell)
            self.children.append(child)
            self._tell(f"+ {process.pid} {int(farewell)}")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            if output:
                output.close()
        return child

    def keep_folder(self, folder: Path) -> Path:
        """Have a socket folder removed when all is over."""
        self._folders.append(folder)
        self._tell(f"d {folder}")
        return folder

    def stop(self, child: Child, *, patience: float = 10.0) -> None:
        """Ask one child to end, then insist; nothing of its group is left."""
        if child.alive():
            child.process.send_signal(child.farewell)
            try:
                child.process.wait(patience)
            except subprocess.TimeoutExpired:
                kill_group(child.process.pid)
                child.process.wait()
        self.forget(child)

    def forget(self, child: Child) -> None:
        """Drop a child that ended; whatever it started ends with it."""
        kill_group(child.process.pid)
        if child in self.children:
            self.children.remove(child)
        self._tell(f"- {child.process.pid}")

    def stop_all(self) -> None:
        """Stop everything, the youngest first, and let the keeper go."""
        for child in reversed(self.children[:]):
            self.stop(child)
        for folder in self._folders:
            paths.remove_socket_folder(folder)
        self._tell("quit")
        if self._keeper.stdin:
            self._keeper.stdin.close()
        self._keeper.wait()

    def _tell(self, line: str) -> None:
        pipe = self._keeper.stdin
        if pipe and not pipe.closed:
            try:
                pipe.write(line.encode() + b"\n")
                pipe.flush()
            except BrokenPipeError:
                return


def kill_group(pid: int) -> None:
    """Kill what is left of a child's own process group, if anything."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def drop_rights() -> dict[str, int | list[int]]:
    """Name the account a server runs as, in the words of subprocess; empty when there is nothing to drop."""
    account = paths.server_account()
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}


def _spawn(
    command: Sequence[str | Path],
    output: IO[bytes] | None,
    environment: Mapping[str, str] | None,
    unprivileged: bool,
    farewell: signal.Signals,
    folder: Path | None,
    handed_over: Sequence[int],
) -> subprocess.Popen[bytes]:
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("Children are started by the main thread: PR_SET_PDEATHSIG follows the thread that forks.")
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        env=dict(environment) if environment is not None else None,
        cwd=folder,
        pass_fds=tuple(handed_over),
        start_new_session=True,
        preexec_fn=die_with(os.getpid(), farewell),
        **(drop_rights() if unprivileged else {}),
    )


def die_with(owner: int, farewell: signal.Signals) -> Callable[[], None]:
    """Make the function a child runs last: end with the owner, even if it died just now."""

    def ask_for_signal() -> None:
        # The owner may have signals blocked while it starts things; a child that inherits that could not be stopped.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if _LIBC is not None:
            _LIBC.prctl(PR_SET_PDEATHSIG, int(farewell), 0, 0, 0)
            if os.getppid() != owner:
                os._exit(1)

    return ask_for_signal
