"""What is kept outside plain rows: files of tasks, and encrypted values."""
