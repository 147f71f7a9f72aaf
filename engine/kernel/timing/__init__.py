"""Time as the language knows it: durations, time zones, business calendars and cron."""
