"""What only mails need."""

from django import template

from workflowplatform.mail_texts import Link, as_words

register = template.Library()


@register.filter
def unlinked(text: str) -> str:
    """Return a text in which no mail program finds an address; the platform's own links stay."""
    return text if isinstance(text, Link) else as_words(str(text))
