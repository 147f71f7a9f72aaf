"""Describe simple cron expressions in words; others are shown as they are."""

import re

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NAMES = {day[:3].lower(): number for number, day in enumerate(WEEKDAYS[:7])}
_STEP = re.compile(r"\*/([1-9]\d?)", re.ASCII)
_NUMBER = re.compile(r"\d{1,2}", re.ASCII)


def cron_words(expression: str) -> str:
    """Describe an expression in words, or return nothing if it is not simple."""
    fields = expression.lower().split()
    if len(fields) != 5 or fields[3] != "*":
        return ""
    minute, hour, day, _month, weekday = fields
    if (hour, day, weekday) == ("*", "*", "*"):
        return _within_the_hour(minute)
    at = _time(minute, hour)
    on = _days(day, weekday)
    return f"{on} at {at}" if at and on else ""


def _within_the_hour(minute: str) -> str:
    step = _STEP.fullmatch(minute)
    if step is not None and 60 % int(step[1]) == 0:
        return "every minute" if step[1] == "1" else f"every {step[1]} minutes"
    return f"every hour at minute {int(minute)}" if _NUMBER.fullmatch(minute) else "every minute" * (minute == "*")


def _time(minute: str, hour: str) -> str:
    plain = _NUMBER.fullmatch(minute) and _NUMBER.fullmatch(hour)
    return f"{int(hour):02}:{int(minute):02}" if plain else ""


def _days(day: str, weekday: str) -> str:
    if weekday == "*":
        return "every day" if day == "*" else f"on day {int(day)} of every month" if _NUMBER.fullmatch(day) else ""
    return _weekdays(weekday) if day == "*" else ""


def _weekdays(text: str) -> str:
    """Describe weekdays: one, a list or a range; anything else gives nothing."""
    first, dash, last = text.partition("-")
    if dash:
        span = (_weekday(first), _weekday(last))
        return f"{span[0]} to {span[1]}" if all(span) else ""
    days = [_weekday(part) for part in text.split(",")]
    if not all(days):
        return ""
    return f"every {days[0]}" if len(days) == 1 else f"{', '.join(days[:-1])} and {days[-1]}"


def _weekday(text: str) -> str:
    number = NAMES.get(text, int(text) if text in tuple("01234567") else None)
    return "" if number is None else WEEKDAYS[number]
