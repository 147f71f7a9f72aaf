"""The WSGI entrance, for servers that know no ASGI."""

import os

from django.core.wsgi import get_wsgi_application

from workflowplatform.servers.errors import CannotStart

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
os.environ.setdefault("WORKFLOW_POOL_SIZE", "20")
try:
    application = get_wsgi_application()
except CannotStart as refusal:
    raise SystemExit(str(refusal)) from None

from engine.services.templates.startup_validation import Unfit, require_fit_to_serve  # the apps are loaded by now

try:
    require_fit_to_serve()
except Unfit as unfit:
    raise SystemExit(str(unfit)) from None
