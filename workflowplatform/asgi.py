"""The ASGI entrance: what uvicorn serves."""

import os

import django

from workflowplatform.servers.errors import CannotStart

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
os.environ.setdefault("WORKFLOW_POOL_SIZE", "20")
try:
    django.setup(set_prefix=False)
except CannotStart as refusal:
    raise SystemExit(str(refusal)) from None

from engine.conf import conf  # the apps are loaded by now
from engine.services.templates.startup_validation import Unfit, require_fit_to_serve
from engine.streaming.asgi import Streams
from workflowplatform.http.sync_asgi_handler import SyncASGIHandler

application = Streams(SyncASGIHandler())


def most_bytes() -> int:
    """Return how much memory a process that serves this may hold; 0: any."""
    return conf.web_memory * 1024**2


try:
    require_fit_to_serve()
except Unfit as unfit:
    raise SystemExit(str(unfit)) from None
