"""What a facility makes many of at once is kept for the one container in which it was made."""

from harness.targets.docker.tests.containers import stub


def test_what_was_made_in_one_container_is_handed_out_for_that_one() -> None:
    one, again, other = (stub().attach(container, {"amqp": 5672}, "") for container in ("a", "a", "b"))
    made, *more = (each.use("stock")["made"].split("-") for each in (one, again, other))
    assert more[0] == [made[0], "1"]
    assert more[1][0] != made[0]
    assert more[1][1] == "0"
