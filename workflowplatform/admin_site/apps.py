"""Name the admin's frame apart from it: this is read before there are models."""

from django.contrib.admin.apps import AdminConfig


class WorkflowAdminConfig(AdminConfig):
    default_site = "workflowplatform.admin_site.site.WorkflowAdminSite"
