"""deploy/nginx.conf in front of a server that answers what it was told: callers forge nothing, figures stay inside."""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.platform.sandbox import eventually
from workflowplatform.servers.paths import PROJECT

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = [
    pytest.mark.security("callers cannot forge where they come from"),
    pytest.mark.skipif(not NGINX, reason="no nginx here"),
]


class Echo(http.server.BaseHTTPRequestHandler):
    """Answer with the headers that came in."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps(dict(self.headers.items())).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the shipped site on loopback, with a certificate of its own, before an echo."""
    folder = tmp_path_factory.mktemp("nginx")
    key, certificate = folder / "workflow.key", folder / "workflow.crt"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=workflow.example.com",
    ]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    echo = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=echo.serve_forever, daemon=True).start()
    plain, tls = free_port(), free_port()
    site = (PROJECT / "deploy/nginx.conf").read_text().replace("/etc/nginx", str(folder))
    site = site.replace("listen 80;", f"listen 127.0.0.1:{plain};").replace(
        "listen 443 ssl;", f"listen 127.0.0.1:{tls} ssl;"
    )
    site = site.replace("127.0.0.1:8000", f"127.0.0.1:{echo.server_port}")
    (folder / "nginx.conf").write_text(_around(folder, site))
    server = subprocess.Popen([str(NGINX), "-c", str(folder / "nginx.conf"), "-p", str(folder), "-g", "daemon off;"])
    try:
        assert eventually(lambda: _answers(f"https://127.0.0.1:{tls}/"))
        yield f"https://127.0.0.1:{tls}"
    finally:
        server.terminate()
        server.wait(10)
        echo.shutdown()
        echo.server_close()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _around(folder: Path, site: str) -> str:
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{site}\n}}\n"
    )


def ask(address: str, **headers: str) -> httpx.Response:
    return httpx.get(
        address, headers={"Host": "workflow.example.com", **headers}, verify=False, timeout=5, trust_env=False
    )


def _answers(address: str) -> bool:
    try:
        return ask(address).status_code == 200
    except httpx.HTTPError:
        return False


FORGED = {
    "X-Forwarded-For": "127.0.0.1",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Host": "evil",
    "Forwarded": "for=127.0.0.1",
}


def test_forwarded_headers_are_written_by_the_proxy_alone(proxy: str) -> None:
    arrived = ask(proxy, **FORGED).json()
    assert arrived["X-Forwarded-For"] == "127.0.0.1"  # the caller's real address, once
    assert arrived["X-Forwarded-Proto"] == "https"
    assert "evil" not in json.dumps(arrived)
    assert "Forwarded" not in arrived


def test_a_list_of_addresses_is_not_passed_on(proxy: str) -> None:
    arrived = ask(proxy, **{"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}).json()
    assert arrived["X-Forwarded-For"] == "127.0.0.1"


def test_figures_stay_inside(proxy: str) -> None:
    assert ask(f"{proxy}/metrics").status_code == 404


def test_sign_in_is_slowed_down(proxy: str) -> None:
    answers = [ask(f"{proxy}/accounts/login/").status_code for _ in range(40)]
    assert answers[:10] == [200] * 10
    assert 429 in answers
