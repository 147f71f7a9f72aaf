"""What a project registers by name: functions, decorators and step kinds."""
