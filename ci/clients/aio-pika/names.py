"""What aio-pika and aiormq call otherwise than the document."""

NAMES = {"type": "exchange_type", "global": "global_", "no-wait": "nowait"}
"""Arguments that aiormq calls otherwise than the document."""
CONNECTING = {"heartbeat": "heartbeat", "mechanism": "auth"}
