"""The ASGI entrance: what uvicorn serves."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
os.environ.setdefault("WORKFLOW_POOL_SIZE", "20")
django.setup(set_prefix=False)

from engine.startup import Unfit, require_fit_to_serve  # noqa: E402  the apps are loaded by now
from engine.streaming.serving import Streams  # noqa: E402
from workflowplatform.one_thread import OneThread  # noqa: E402

application = Streams(OneThread())

try:
    require_fit_to_serve()
except Unfit as unfit:
    raise SystemExit(str(unfit)) from None
