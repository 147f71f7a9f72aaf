"""DATABASE_URL, ports and the kept SECRET_KEY."""

from __future__ import annotations

import contextlib
import socket
import stat
from pathlib import Path

import pytest

from workflowplatform.servers import database_url, ports
from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.secret_key import kept_secret_key


def test_url_of_a_host_becomes_djangos_entry() -> None:
    entry = database_url.from_url("postgresql://ada:p%40ss@db.example:6432/work%20flow?sslmode=require")
    assert entry == {
        "ENGINE": "workflowplatform.database",
        "NAME": "work flow",
        "USER": "ada",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {"sslmode": "require"},
    }


def test_socket_url_is_read_back() -> None:
    url = database_url.socket_url(user="workflow", name="workflow", folder="/run/a b")
    assert database_url.from_url(url)["HOST"] == "/run/a b"
    assert database_url.from_url(url)["USER"] == "workflow"


@pytest.mark.parametrize("url", ["mysql://u:secret@h/db", "postgresql://u:secret@h/", "u:secret@h"])
def test_url_that_is_none_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="DATABASE_URL") as refusal:
        database_url.from_url(url)
    assert "secret" not in str(refusal.value)


def test_no_url_gives_an_entry_that_says_what_to_do_on_connecting() -> None:
    assert "bin/up" in database_url.from_url("")["HOST"]


def test_secret_key_is_made_once_and_closed_to_others(tmp_path: Path) -> None:
    first = kept_secret_key(tmp_path / "data")
    assert len(first) >= 50
    assert kept_secret_key(tmp_path / "data") == first
    assert stat.S_IMODE((tmp_path / "data" / "secret_key").stat().st_mode) == 0o600


def test_secret_key_that_cannot_be_kept_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotStart, match="SECRET_KEY cannot be kept"):
        kept_secret_key(tmp_path / "file")


def test_taken_port_gives_the_next_free_one() -> None:
    with ports.listen(20000) as first, ports.listen(first.getsockname()[1]) as second:
        assert second.getsockname()[1] > first.getsockname()[1]


def test_full_range_of_ports_is_refused_in_one_sentence() -> None:
    with contextlib.ExitStack() as stack:
        for port in range(65533, 65536):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server((ports.HOST, port)))
        with pytest.raises(CannotStart, match="Every port from 65533 to 65535 is taken"):
            ports.listen(65533)
