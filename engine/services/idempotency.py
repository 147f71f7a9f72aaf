"""Keep the answer to a request, so that the same request sent again changes nothing.

The first request keeps its answer in the transaction of the act itself, under (tenant, actor, route, key). A repeated request
gets that answer; the same key with another body is refused. Requests that arrive at the same moment wait for each other on an
advisory lock, so that the second one finds what the first one wrote. A refused act keeps nothing: it changed nothing and may be
tried again.

Every act over REST pays for this, so it is two short statements: the one that asks carries BEGIN, the one that keeps the answer
travels with the COMMIT.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from engine.errors import KeyReused
from engine.runtime.commit import run_hot, send_hot
from workflowplatform.accounts.actor import Actor

ASK = "SELECT body_sha256, status, answer FROM wf_asked_before(%(tenant)s::uuid, %(actor)s::uuid, %(route)s, %(key)s)"
KEEP = """
INSERT INTO wf_idempotency_keys (tenant_id, actor_id, route, key, body_sha256, status, answer, created_at)
VALUES (%(tenant)s::uuid, %(actor)s::uuid, %(route)s, %(key)s, %(digest)s, %(status)s, to_jsonb(%(text)s::text),
  clock_timestamp())
"""


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request that may be sent again: by whom, where to, under which key, and a digest of its body."""

    actor: Actor
    route: str
    key: str
    digest: str

    def kept_answer(self) -> tuple[int, str] | None:
        """Return status and text of the first answer, or None. Waits for the same request if that is under way."""
        for digest, status, text in run_hot(ASK, self._place()):
            if digest != self.digest:
                raise KeyReused
            return status, text
        return None

    def keep_answer(self, status: int, text: str) -> None:
        """Keep the answer in the transaction of the act."""
        send_hot(KEEP, {**self._place(), "digest": self.digest, "status": status, "text": text})

    def _place(self) -> dict[str, Any]:
        actor = self.actor
        return {"tenant": actor.tenant_id, "actor": actor.person_id, "route": self.route, "key": self.key}


def digest_of(body: Any) -> str:
    """Hash a body by its content: spaces and the order of its keys make no difference."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=_digest_of_file).encode()).hexdigest()


def _digest_of_file(file: "UploadedFile[Any]") -> str:
    found = hashlib.sha256(f"{file.name}|".encode())
    for chunk in file.chunks():
        found.update(chunk)
    file.seek(0)
    return found.hexdigest()
