"""Host locks: who does a hosted job now, until when."""

from django.db import models


class HostLock(models.Model):
    """A name that one process holds until a moment of the database's clock. It belongs to the platform, not to a tenant."""

    name = models.CharField(primary_key=True, max_length=100)
    holder = models.CharField(max_length=200)
    acquired_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "wf_host_locks"

    def __str__(self) -> str:
        return f"{self.name} held by {self.holder}"
