"""What documents show of the gallery: one workflow to send, and one start."""

SENT = "first-of-three"
STARTED = {
    "template": "leave-request",
    "input": {"kind": "holiday", "first_day": "2030-07-01", "days": 5},
    "reference": "LVE-2030-1",
}
