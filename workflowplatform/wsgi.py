"""The WSGI entrance, for servers that know no ASGI."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowplatform.settings")
application = get_wsgi_application()
