"""The layer of SASL as this client speaks it: what is said first, and in answer to a challenge."""

from __future__ import annotations

from typing import Any

from harness.amqp1_0.wire.performatives import SaslCode, SaslInit, SaslMechanisms, SaslOutcome, SaslResponse
from harness.targets.target import Endpoint
from harness.wire.sasl import mechanism

MOST_CHALLENGES = 4
"""Challenges that are answered; the mechanisms spoken here need none."""
ACCEPTED = SaslCode.OK


def init(endpoint: Endpoint, **changes: Any) -> SaslInit:
    """What is said to the mechanisms offered, with the endpoint's own mechanism, altered as given."""
    response = mechanism(endpoint.mechanism).response(endpoint.user, endpoint.password)
    return SaslInit(endpoint.mechanism, response).replace(**changes)


def response(said: SaslInit) -> SaslResponse:
    """The mechanisms spoken here say all they have to say at once, so a challenge gets the same again."""
    return SaslResponse(said.initial_response or b"")


def offers(offered: SaslMechanisms, name: str) -> bool:
    """Whether the server lists this mechanism."""
    return name in map(str, offered.sasl_server_mechanisms)


def accepts(outcome: SaslOutcome) -> bool:
    """Whether the server lets us in."""
    return bool(outcome.carried("code") == ACCEPTED)
