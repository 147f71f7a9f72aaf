"""What documents show of the gallery: one workflow to send, and the life of one leave request."""

SENT = "first-of-three"
STARTED = {
    "template": "leave-request",
    "input": {"kind": "holiday", "first_day": "2030-07-01", "days": 5},
    "reference": "LVE-2030-1",
}
ANSWERED = {"outcome": "approve", "comment": "Enjoy the sea."}
SIGNALLED = {"name": "withdrawn", "payload": {"why": "plans changed"}, "id": "withdrawal-17"}
SIMULATED = {
    "as": "uri",
    "people": {"uri": {"level": 2}, "mia": {"roles": ["management"]}},
    "start": STARTED["input"],
    "calls": {"record": [{"result": {}}]},
    "do": [{"complete": "answer", "by": "mia", "with": {"outcome": "approve"}}],
    "expect": {"status": "completed", "outcome": "APPROVED"},
}
SUBSCRIBED = {
    "url": "https://example.com/hooks/leave",
    "events": ["instance.started", "task.completed", "instance.completed"],
    "templates": ["leave-request"],
    "title": "Tell the payroll",
}
