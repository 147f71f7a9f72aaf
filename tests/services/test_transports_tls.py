"""TLS checks the name that the author wrote, though the connection goes to a pinned address."""

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from engine.transports import address_guard, http
from engine.transports.base import Failed, Succeeded, make_call

pytestmark = pytest.mark.security("calls reach public addresses only")


def certificate(folder: Path, name: str) -> Path:
    """Write a key and a self-signed certificate for a name, good for an hour."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path = folder / "both.pem"
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


def serve_once(listener: socket.socket, context: ssl.SSLContext) -> None:
    try:
        with context.wrap_socket(listener.accept()[0], server_side=True) as stream:
            stream.recv(65536)
            stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    except OSError:
        return


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A TLS server for right.example, trusted; every name leads to it."""
    pem = certificate(tmp_path, "right.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    monkeypatch.setattr(http, "tls", lambda: ssl.create_default_context(cafile=str(pem)))
    monkeypatch.setattr(address_guard, "look_up", lambda host, port: ("127.0.0.1",))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_once, args=(listener, context), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(5)


@pytest.mark.parametrize(("name", "kind"), [("right.example", Succeeded), ("wrong.example", Failed)])
def test_certificate_must_be_for_the_name_that_was_called(port: int, settings: Any, name: str, kind: type) -> None:
    url = f"https://{name}:{port}"
    settings.WORKFLOW_HTTP_ALLOW = [url]
    result = make_call("http", {"url": url}, key="k", timeout_seconds=5)
    assert isinstance(result, kind)
    assert kind is Succeeded or result.code == "no_answer"  # type: ignore[union-attr]
