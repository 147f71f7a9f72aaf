"""The app config of the admin site; it is read before models are loaded."""

from django.contrib.admin.apps import AdminConfig


class WorkflowAdminConfig(AdminConfig):
    default_site = "workflowplatform.admin_site.site.WorkflowAdminSite"
