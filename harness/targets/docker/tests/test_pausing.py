"""A container is paused, also where a busy machine does not get all its processes to stand still at once."""

from __future__ import annotations

import docker
import pytest
from docker import APIClient
from docker.errors import APIError

from harness.targets.docker.tests.containers import make_busybox, stub
from harness.targets.docker.tests.required import engine as engine
from harness.targets.target import TargetError


@pytest.mark.parametrize(("refusals", "told"), [(4, ""), (5, "unable to freeze"), (1, "no such thing")])
def test_a_container_that_a_busy_machine_cannot_pause_at_once_is_paused_again(
    refusals: int, told: str, engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause, asked = APIClient.pause, []

    def busy(client: APIClient, container: str) -> None:
        asked.append(container)
        if len(asked) <= refusals:
            raise APIError(told or "OCI runtime pause failed: unable to freeze: unknown")
        pause(client, container)

    make_busybox(engine)
    monkeypatch.setattr(APIClient, "pause", busy)
    with stub() as one:
        if told:
            with pytest.raises(TargetError, match=f"the engine could not pause the container: .*{told}"):
                one.engine("pause")
        else:
            one.engine("pause")
            one.engine("unpause")
    assert len(asked) == min(refusals + (not told), 5)
