"""What people do with tasks."""
