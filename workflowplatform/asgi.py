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

from engine.services.templates.startup_validation import Unfit, require_fit_to_serve  # the apps are loaded by now
from engine.streaming.asgi import Streams
from workflowplatform.http.sync_asgi_handler import SyncASGIHandler

application = Streams(SyncASGIHandler())

try:
    require_fit_to_serve()
except Unfit as unfit:
    raise SystemExit(str(unfit)) from None
