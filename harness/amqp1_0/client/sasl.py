"""The layer of SASL as this client speaks it: what is said first, and in answer to a challenge."""

from typing import Any

from harness.amqp1_0.wire.performatives import SaslCode, SaslInit, SaslMechanisms, SaslOutcome, SaslResponse
from harness.targets.target import Endpoint
from harness.wire.sasl import mechanism

MOST_CHALLENGES = 4
"""Challenges that are answered; the mechanisms spoken here need none."""
ACCEPTED = SaslCode.OK


def init(endpoint: Endpoint, **changes: Any) -> SaslInit:
    """Give what is said to the mechanisms offered, with the endpoint's own mechanism, altered as given."""
    response = mechanism(endpoint.mechanism).response(endpoint.user, endpoint.password)
    return SaslInit(endpoint.mechanism, response).replace(**changes)


def response(said: SaslInit) -> SaslResponse:
    """Answer a challenge with what was said first: these mechanisms say all they have to at once."""
    return SaslResponse(said.initial_response or b"")


def offers(offered: SaslMechanisms, name: str) -> bool:
    return name in map(str, offered.sasl_server_mechanisms)


def accepts(outcome: SaslOutcome) -> bool:
    return bool(outcome.carried("code") == ACCEPTED)
