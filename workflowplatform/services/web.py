"""Serve the product with uvicorn on a socket that `up` listens on: ``python -m workflowplatform.services.web FD``.

The socket belongs to `up`, so no port is lost between finding and binding it, and a restart drops no waiting
connection.
"""

from __future__ import annotations

import socket
import sys

import uvicorn

APPLICATION = "workflowplatform.asgi:application"


def main() -> None:
    """Serve until told to stop; open streams get three seconds."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    config = uvicorn.Config(
        APPLICATION,
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=3,
        server_header=False,
        proxy_headers=False,  # workflowplatform.forwarding decides whom to believe
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
