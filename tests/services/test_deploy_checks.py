"""What `check --deploy` refuses: settings with which a deployment would not be safe."""

from typing import Any

import pytest

from engine.checks import check_redis

pytestmark = pytest.mark.security("Redis is not trusted")


@pytest.mark.parametrize(
    ("address", "lacks"),
    [
        ("unix:///run/valkey.sock?db=0", []),
        ("redis://127.0.0.1:6379/0", []),
        ("redis://localhost/0", []),
        ("redis://[::1]:6379/0", []),
        ("rediss://:secret@redis.example:6379/0", []),
        ("redis://:secret@redis.example:6379/0", ["TLS"]),
        ("rediss://redis.example/0", ["a password"]),
        ("redis://10.0.0.5/0", ["a password", "TLS"]),
    ],
)
def test_a_redis_on_another_host_needs_password_and_tls(settings: Any, address: str, lacks: list[str]) -> None:
    settings.REDIS_URL = address
    assert [
        message.msg.removeprefix("REDIS_URL names another host without ").rstrip(".") for message in check_redis()
    ] == lacks
