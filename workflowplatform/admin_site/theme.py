"""The look of the admin: the colours of the inbox, its name, and the side navigation."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

from workflowplatform.accounts import levels

ACCENT = {
    "50": "#eef2fe", "100": "#e0e7fd", "200": "#c7d2fb", "300": "#a4b5f7", "400": "#7b90ef", "500": "#4b68e3",
    "600": "#2f50cf", "700": "#2643b4", "800": "#22398f", "900": "#1f3272", "950": "#151f48",
}  # fmt: skip
GREYS = {
    "50": "#f5f6f8", "100": "#eef0f4", "200": "#e2e5eb", "300": "#c9cfd9", "400": "#98a2b4", "500": "#5f687b",
    "600": "#475063", "700": "#3d4758", "800": "#29313f", "900": "#161b24", "950": "#0e1219",
}  # fmt: skip


def file_at(name: str) -> Any:
    """Return the URL of a static file on request: there is none before the settings are read."""
    return lambda request: static(name)


def where(request: HttpRequest) -> str:
    """Return the tenant in which the person works, shown under the site's name."""
    from workflowplatform.accounts.models import Tenant  # noqa: PLC0415  settings import this module before there are models

    actor = getattr(request, "actor", None)
    if not actor:
        return "Admin"
    tenant = Tenant.objects.filter(pk=actor.tenant_id).first()
    return f"Visiting {tenant}" if actor.crosses else f"Admin, {tenant}"


def theme(request: HttpRequest) -> str | None:
    """Return the theme that a person chose; `auto` leaves it to the system."""
    chosen = getattr(request.user, "theme", "auto")
    return None if chosen == "auto" else chosen


def crosses_tenants(request: HttpRequest) -> bool:
    """Return whether this person may see all tenants."""
    return bool(request.user.level >= levels.TO_CROSS_TENANTS)  # type: ignore[union-attr]


def authors(request: HttpRequest) -> bool:
    """Return whether this person may write templates."""
    return bool(request.user.level >= levels.TO_AUTHOR)  # type: ignore[union-attr]


def item(title: str, icon: str, view: str, **more: Any) -> dict[str, Any]:
    """Return one entry of the side navigation."""
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{view}"), **more}


UNFOLD = {
    "SITE_TITLE": "Workflow",
    "SITE_HEADER": "Workflow",
    "SITE_SUBHEADER": where,
    "SITE_ICON": file_at("img/logo.svg"),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": file_at("img/logo.svg")}],
    "SITE_URL": "/inbox/",
    "THEME": theme,
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "BORDER_RADIUS": "6px",
    "COLORS": {"primary": ACCENT, "base": GREYS},
    "STYLES": [
        file_at(name) for name in ("css/tokens.css", "engine/admin.css", "engine/operating.css", "css/diagram.css")
    ],
    "SCRIPTS": [file_at("engine/alpine_names.js"), file_at("engine/scheme.js"), file_at("engine/reach.js")],
    "DASHBOARD_CALLBACK": "engine.admin.dashboard.overview",
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {"title": "", "items": [{"title": "Inbox", "icon": "inbox", "link": "/inbox/"}]},
            {
                "title": "Author",
                "items": [
                    item(
                        "Templates",
                        "account_tree",
                        "engine_template_changelist",
                        active="engine.admin.dashboard.in_templates",
                    ),
                    item("Gallery", "category", "engine_templateversion_gallery", permission=authors),
                ],
            },
            {
                "title": "Operate",
                "items": [
                    item("Dashboard", "grid_view", "index"),
                    item(
                        "Instances", "route", "engine_instance_changelist", active="engine.admin.dashboard.in_instances"
                    ),
                    item("Incidents", "warning", "engine_incidents", badge="engine.admin.dashboard.incident_badge"),
                    item("Tasks", "task_alt", "engine_task_changelist"),
                    item("Signals", "sensors", "engine_signal_changelist", active="engine.admin.dashboard.in_signals"),
                    item("Dead letters", "unsubscribe", "engine_deadletter_changelist"),
                    item("Background work", "playlist_add_check", "engine_bulkact_changelist"),
                    item("Schedules", "schedule", "engine_schedule_changelist"),
                    item("Deliveries", "outgoing_mail", "engine_webhookdelivery_changelist"),
                    item("Notifications", "notifications", "engine_notification_changelist"),
                    item("Audit", "shield", "engine_audit_changelist"),
                    item(
                        "Workers and queues",
                        "dns",
                        "engine_workers",
                        active="engine.admin.dashboard.in_workers",
                        permission=crosses_tenants,
                    ),
                ],
            },
            {
                "title": "Set up",
                "items": [
                    item("People", "group", "accounts_user_changelist"),
                    item("Roles", "badge", "accounts_role_changelist"),
                    item("Calendars", "calendar_month", "engine_businesscalendar_changelist"),
                    item("Secrets", "lock", "engine_secret_changelist", permission=authors),
                    item("Webhooks", "webhook", "engine_webhook_changelist"),
                    item("Chats", "forum", "engine_rolechat_changelist"),
                    item("Retention", "inventory_2", "engine_retentionrule_changelist"),
                    item("Tokens", "key", "accounts_token_changelist"),
                    item("Tenants", "domain", "accounts_tenant_changelist", permission=crosses_tenants),
                ],
            },
        ],
    },
}
