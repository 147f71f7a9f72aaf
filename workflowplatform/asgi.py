"""The ASGI entrance: what uvicorn serves."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
os.environ.setdefault("WORKFLOW_POOL_SIZE", "20")
_django = get_asgi_application()

from engine.startup import Unfit, require_fit_to_serve  # noqa: E402  the apps are loaded by now
from engine.streaming.serving import Streams  # noqa: E402

application = Streams(_django)

try:
    require_fit_to_serve()
except Unfit as unfit:
    raise SystemExit(str(unfit)) from None
