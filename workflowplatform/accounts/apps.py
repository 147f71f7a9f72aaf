from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "workflowplatform.accounts"
    label = "accounts"
    verbose_name = "Set up"
