"""The WSGI entrance, for servers that know no ASGI."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
os.environ.setdefault("WORKFLOW_POOL_SIZE", "20")
application = get_wsgi_application()

from engine.startup import Unfit, require_fit_to_serve  # noqa: E402  the apps are loaded by now

try:
    require_fit_to_serve()
except Unfit as unfit:
    raise SystemExit(str(unfit)) from None
