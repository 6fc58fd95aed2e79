"""What our server bears of a client under test, so that the rest can be seen; watches find it anyway."""

from dataclasses import replace

from harness.amqp1_0.peer.policy import DEFAULT

LENIENT = replace(
    DEFAULT,
    property_keys="ignore",
    error_conditions="missing",
    stray_link_state="ignore",
    small_frame_size="ignore",
    idle_time_out=0,
    max_message_size=None,
)
"""It states no idle-time-out: a blocking library says nothing while it is told nothing."""
