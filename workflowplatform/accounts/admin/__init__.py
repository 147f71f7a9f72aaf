"""The admin pages of tenants, people, roles and tokens. Django imports this package, which registers them."""

from workflowplatform.accounts.admin import people, tenants, tokens

__all__ = ["people", "tenants", "tokens"]
