"""Settings: everything that the environment decides is read here, once.

Production is the default: DEBUG is off, cookies are secure, HTTPS is expected. `manage.py up` and the tests say otherwise by the
environment.
"""

import os
from pathlib import Path
from typing import Any
from uuid import UUID

from workflowplatform.admin_site.theme import UNFOLD  # noqa: F401  read by django-unfold
from workflowplatform.environment import flag, number, whole, words
from workflowplatform.logs import logging_settings
from workflowplatform.servers.database_url import from_url
from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.proxies import checked_proxies
from workflowplatform.servers.public_url import origin_of
from workflowplatform.servers.running import OWNER_ADDRESS, find_running
from workflowplatform.servers.secret_key import kept_secret_key
from workflowplatform.version import VERSION

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("WORKFLOW_DATA", BASE_DIR / "var"))

_found = {} if {"DATABASE_URL", "REDIS_URL"} <= os.environ.keys() else find_running(DATA_DIR)
DATABASE_URL = os.environ.get("DATABASE_URL") or _found.get("DATABASE_URL", "")
WORKFLOW_OWNER_DATABASE_URL = (os.environ if os.environ.get("DATABASE_URL") else _found).get(OWNER_ADDRESS, "")
"""The same database as the owner of its tables, who migrates; empty where DATABASE_URL is the owner, and the only role."""
REDIS_URL = os.environ.get("REDIS_URL") or _found.get("REDIS_URL", "redis://127.0.0.1:6379/0")

DEBUG = flag("DEBUG")
SECRET_KEY = os.environ.get("SECRET_KEY") or kept_secret_key(DATA_DIR)
ALLOWED_HOSTS = words("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS")
LOOPBACK_ONLY = flag("WORKFLOW_LOOPBACK")
"""Set by `manage.py up`: served over plain HTTP to this machine only."""

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "workflowplatform.admin_site.apps.WorkflowAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "knox",
    "django_rq",
    "axes",
    "csp",
    "workflowplatform",
    "workflowplatform.accounts",
    "engine",
    "tasks_inbox",
]

MIDDLEWARE = [
    "engine.api.probes.ProbesMiddleware",
    "workflowplatform.http.client_address.ForwardingMiddleware",
    "workflowplatform.http.resource_policy.own_resources",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "workflowplatform.http.compression.CompressedPages",
    "workflowplatform.http.cache_control.NoStoreMiddleware",
    "workflowplatform.http.content_policy.ContentPolicyMiddleware",
    "workflowplatform.http.programs.ProgramMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "workflowplatform.accounts.middleware.ActorMiddleware",
    "engine.services.tenants.cross_tenant_middleware.LookingMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "workflowplatform.urls"
WSGI_APPLICATION = "workflowplatform.wsgi.application"
ASGI_APPLICATION = "workflowplatform.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

try:
    DATABASES: dict[str, Any] = {"default": from_url(DATABASE_URL)}
except ValueError as error:
    raise CannotStart(str(error)) from error
WORKFLOW_APPLICATION_ROLE = os.environ.get("WORKFLOW_APPLICATION_ROLE") or (
    DATABASES["default"].get("USER", "") if WORKFLOW_OWNER_DATABASE_URL else ""
)
"""To whom `migrate` gives the application's rights."""
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "workflowplatform.accounts.backends.PeopleBackend",
    "django.contrib.auth.backends.ModelBackend",
]
"""`PeopleBackend` decides: it raises where it refuses a sign-in. Django's own stays for sessions that it opened before."""
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/inbox/"
LOGOUT_REDIRECT_URL = "/accounts/login/"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_CLIENT_IP_CALLABLE = "workflowplatform.http.client_address.caller_address"
AXES_LOCKOUT_CALLABLE = "workflowplatform.accounts.views.locked_out"

KNOX_TOKEN_MODEL = "accounts.Token"
MIGRATION_MODULES = {"knox": None}
"""Its migrations would create the table of the token model that ours replaces."""
REST_KNOX = {"AUTH_HEADER_PREFIX": "Token", "TOKEN_TTL": None, "TOKEN_MODEL": "accounts.Token"}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
"""What the inbox and the account pages can be read in; workflowplatform.accounts.middleware keeps all else English."""
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
COLLECTED = not DEBUG and (flag("WORKFLOW_COLLECTED") or not LOOPBACK_ONLY)
"""Whether `collectstatic` ran before: `manage.py up` says so, and elsewhere it is part of each release."""
WHITENOISE_USE_FINDERS = not COLLECTED
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "workflowplatform.http.static_files.CollectedFiles"
        if COLLECTED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

WORKFLOW_PUBLIC_URL = origin_of(os.environ.get("WORKFLOW_PUBLIC_URL", ""))
EMAIL_URL_HOST = os.environ.get("EMAIL_HOST", "")
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend" if EMAIL_URL_HOST else "workflowplatform.accounts.mails.UnsentBackend"
)
EMAIL_HOST = EMAIL_URL_HOST or "localhost"
EMAIL_PORT = whole("EMAIL_PORT", 25)
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = flag("EMAIL_USE_TLS")
EMAIL_TIMEOUT = 30
DEFAULT_FROM_EMAIL = os.environ.get("DEFAULT_FROM_EMAIL", "workflow@localhost")

_secure = not (DEBUG or LOOPBACK_ONLY)
SESSION_COOKIE_SECURE = _secure
CSRF_COOKIE_SECURE = _secure
SESSION_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = _secure and flag("SECURE_SSL_REDIRECT", True)
SECURE_REDIRECT_EXEMPT = [r"^metrics$"]
"""A Prometheus on this machine asks over plain HTTP."""
SECURE_HSTS_SECONDS = 31_536_000 if _secure else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _secure and flag("SECURE_HSTS_INCLUDE_SUBDOMAINS")
SECURE_HSTS_PRELOAD = _secure and flag("SECURE_HSTS_PRELOAD")
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
"""Both promise something for every host of the domain, and preloading for years: the operator decides, Django need not ask."""
WORKFLOW_PROXIES = checked_proxies(words("WORKFLOW_PROXIES"))
"""The networks of the proxies in front, such as 10.0.0.0/24, or `unix`: what others forward is not believed."""
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if flag("WORKFLOW_BEHIND_PROXY") else None
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "engine.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "engine.api.authentication.WithinScope",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["engine.api.throttles.PerMinute"],
    "DEFAULT_RENDERER_CLASSES": ["engine.api.json_bodies.AnswerRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "engine.api.errors.answer_error",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_SCHEMA_CLASS": "engine.api.openapi.ContractSchema",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Workflow",
    "DESCRIPTION": "Everything the pages can do, for machines. docs/rest.md is the guide to it.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": "/api/v1"}],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SCHEMA_PATH_PREFIX_TRIM": True,
    "PATH_CONVERTER_OVERRIDES": {"id": UUID},
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["engine.api.openapi.complete_document"],
}

RQ_QUEUES = {"default": {"URL": REDIS_URL, "SERIALIZER": "rq.serializers.JSONSerializer"}}
RQ = {"WORKER_CLASS": "engine.dispatch.rq.DrainWorker", "COMMIT_MODE": "auto"}

# What each of these is for and which values it takes: engine/conf.py.
WORKFLOW_DISPATCHER = os.environ.get("WORKFLOW_DISPATCHER", "rq")
WORKFLOW_HTTP_ALLOW = words("WORKFLOW_HTTP_ALLOW")
WORKFLOW_FUNCTIONS = words("WORKFLOW_FUNCTIONS", "engine.extensions.functions,engine.gallery.office")
WORKFLOW_STARTUP_VALIDATION = os.environ.get("WORKFLOW_STARTUP_VALIDATION", "warn")
WORKFLOW_HEALTH_DETAILS = flag("WORKFLOW_HEALTH_DETAILS")

WORKFLOW_TOKEN_DAYS = whole("WORKFLOW_TOKEN_DAYS", 90)
WORKFLOW_TOKEN_MOST_DAYS = whole("WORKFLOW_TOKEN_MOST_DAYS", 365)
WORKFLOW_TOKENS_PER_PERSON = whole("WORKFLOW_TOKENS_PER_PERSON", 50)
WORKFLOW_TOKEN_REQUESTS = whole("WORKFLOW_TOKEN_REQUESTS", 30_000)
WORKFLOW_TENANT_REQUESTS = whole("WORKFLOW_TENANT_REQUESTS", 60_000)
WORKFLOW_REDIS_PREFIX = os.environ.get("WORKFLOW_REDIS_PREFIX", "")

WORKFLOW_HOSTS = whole("WORKFLOW_HOSTS", 1)
WORKFLOW_SHARED_FILES = flag("WORKFLOW_SHARED_FILES")
WORKFLOW_LARGEST_UPLOAD = whole("WORKFLOW_LARGEST_UPLOAD", 128 * 1024**2)

WORKFLOW_WEBHOOK_FAILURES = whole("WORKFLOW_WEBHOOK_FAILURES", 20)
WORKFLOW_WEBHOOK_PATIENCE_HOURS = number("WORKFLOW_WEBHOOK_PATIENCE_HOURS", 24)
WORKFLOW_WEBHOOK_KEEP_DAYS = whole("WORKFLOW_WEBHOOK_KEEP_DAYS", 30)

WORKFLOW_STREAMS = whole("WORKFLOW_STREAMS", 2000)
WORKFLOW_STREAMS_PER_PERSON = whole("WORKFLOW_STREAMS_PER_PERSON", 20)
WORKFLOW_STREAM_CHECK_SECONDS = number("WORKFLOW_STREAM_CHECK_SECONDS", 10)

WORKFLOW_POISON_ATTEMPTS = whole("WORKFLOW_POISON_ATTEMPTS", 5)
WORKFLOW_WORKER_MEMORY = whole("WORKFLOW_WORKER_MEMORY", 2048)
WORKFLOW_WEB_MEMORY = whole("WORKFLOW_WEB_MEMORY", 1024)
WORKFLOW_WORKER_SECONDS = number("WORKFLOW_WORKER_SECONDS", 120)
WORKFLOW_DRAIN_BATCH = whole("WORKFLOW_DRAIN_BATCH", 50)
WORKFLOW_WAKE_SECONDS = number("WORKFLOW_WAKE_SECONDS", 5)
WORKFLOW_LATE_SECONDS = number("WORKFLOW_LATE_SECONDS", 30)
WORKFLOW_STOP_SECONDS = number("WORKFLOW_STOP_SECONDS", 7)
WORKFLOW_TURN_SECONDS = number("WORKFLOW_TURN_SECONDS", 0.02)
WORKFLOW_LONG_TURNS = whole("WORKFLOW_LONG_TURNS", 1)

WORKFLOW_SLICE_STEPS = whole("WORKFLOW_SLICE_STEPS", 500)
WORKFLOW_SLICE_SECONDS = number("WORKFLOW_SLICE_SECONDS", 0.05)
WORKFLOW_TRANSACTION_STARTS = whole("WORKFLOW_TRANSACTION_STARTS", 200)
WORKFLOW_TRANSACTION_STEPS = whole("WORKFLOW_TRANSACTION_STEPS", 2000)
WORKFLOW_TRANSACTION_SECONDS = number("WORKFLOW_TRANSACTION_SECONDS", 0.5)
WORKFLOW_LARGEST_STATE = whole("WORKFLOW_LARGEST_STATE", 8 * 1024**2)
WORKFLOW_MOST_DESCENDANTS = whole("WORKFLOW_MOST_DESCENDANTS", 10_000)
WORKFLOW_LONGEST_CHAIN = whole("WORKFLOW_LONGEST_CHAIN", 1000)

WORKFLOW_DIAGRAMS = flag("WORKFLOW_DIAGRAMS", True)
WORKFLOW_RETENTION = flag("WORKFLOW_RETENTION", True)
WORKFLOW_AUDIT_KEYS = tuple(words("WORKFLOW_AUDIT_KEY"))
WORKFLOW_AUDIT_SIGNING_KEY = os.environ.get("WORKFLOW_AUDIT_SIGNING_KEY") or str(DATA_DIR / "audit_signing_key")
WORKFLOW_AUDIT_ROOTS = flag("WORKFLOW_AUDIT_ROOTS", True)
WORKFLOW_AUDIT_ROOT_HOURS = number("WORKFLOW_AUDIT_ROOT_HOURS", 24)
WORKFLOW_AUDIT_ROOT_DIR = os.environ.get("WORKFLOW_AUDIT_ROOT_DIR") or str(DATA_DIR / "audit_roots")
WORKFLOW_AUDIT_ROOT_MAIL = words("WORKFLOW_AUDIT_ROOT_MAIL")
WORKFLOW_AUDIT_ROOT_URL = os.environ.get("WORKFLOW_AUDIT_ROOT_URL", "")
WORKFLOW_PUSH_KEY = os.environ.get("WORKFLOW_PUSH_KEY") or str(DATA_DIR / "push_key")
WORKFLOW_METRICS_DIR = os.environ.get("PROMETHEUS_MULTIPROC_DIR") or str(DATA_DIR / "metrics")

WORKFLOW_PREPARE = flag("WORKFLOW_PREPARE", True)
WORKFLOW_HOT_PATH = flag("WORKFLOW_HOT_PATH", True)
WORKFLOW_POOLED = flag("WORKFLOW_POOLED", not WORKFLOW_PREPARE)
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = WORKFLOW_POOLED
"""Behind a pooler in transaction mode a cursor kept by the server would be looked for in another session."""
WORKFLOW_POOL_SIZE = whole("WORKFLOW_POOL_SIZE", 0)
WORKFLOW_POOL_PATIENCE = number("WORKFLOW_POOL_PATIENCE", 10)
WORKFLOW_POOL_LINE = whole("WORKFLOW_POOL_LINE", 100)
if WORKFLOW_POOL_SIZE:
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    _options = DATABASES["default"].setdefault("OPTIONS", {})
    _options["pool"] = {"size": WORKFLOW_POOL_SIZE, "patience": WORKFLOW_POOL_PATIENCE, "line": WORKFLOW_POOL_LINE}
    _options.setdefault("connect_timeout", 2)  # a host that does not even refuse is away

LOGGING = logging_settings(level=os.environ.get("LOG_LEVEL", "INFO"), for_people=LOOPBACK_ONLY or DEBUG)
