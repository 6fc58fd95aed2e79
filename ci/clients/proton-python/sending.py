"""What Proton sends, and what becomes of it."""

from collections.abc import Mapping
from typing import Any

from contract import Told
from messages import made
from proton import Delivery, Link
from pumped import Pumped

OUTCOMES = {
    Delivery.ACCEPTED: "accepted",
    Delivery.REJECTED: "rejected",
    Delivery.RELEASED: "released",
    Delivery.MODIFIED: "modified",
}


class Sending(Pumped):
    """Messages sent, and their outcomes."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[str, tuple[str, bool]] = {}
        """What is not settled yet, by its tag: the link, and whether an event shall tell it."""
        self._outcomes: dict[str, str | None] = {}

    def forget(self) -> None:
        """Forget what was sent, too."""
        super().forget()
        self._sent.clear()
        self._outcomes.clear()

    def send(
        self,
        on: str,
        body: Any,
        properties: Mapping[str, Any] | None = None,
        header: Mapping[str, Any] | None = None,
        application: Mapping[str, Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        settled: bool = False,
        wait: bool = True,
        count: int = 1,
    ) -> Told:
        """Send a message, so many times; without credit Proton keeps it."""
        message = made(
            {
                "body": body,
                "properties": properties,
                "header": header,
                "application": application,
                "annotations": annotations,
            }
        )
        return self._sending(on, message, settled, wait, count)

    def _sending(self, on: str, message: Any, settled: bool, wait: bool, count: int = 1) -> Told:
        link, tag = self.alive(on), ""
        for _ in range(count):
            delivery = link.send(message)
            tag = str(delivery.tag)
            if settled:
                delivery.settle()
            elif link.snd_settle_mode != Link.SND_SETTLED:
                self._sent[f"{on} {tag}"] = (on, not wait)
        key = f"{on} {tag}"
        if key not in self._sent:
            self.until(on, lambda: not link.queued)
            self.live(on.partition("/")[0], 0)
            return {"outcome": None} if wait else {"tag": tag}
        if not wait:
            self.live(on.partition("/")[0], 0)
            return {"tag": tag}
        self.until(on, lambda: key in self._outcomes)
        return {"outcome": self._outcomes.pop(key)}

    def settled(self, delivery: Any) -> None:
        """Remember the outcome of a message sent."""
        link = delivery.link
        key = f"{link.told_as} {delivery.tag}"
        outcome = OUTCOMES.get(delivery.remote_state)
        if key in self._sent:
            on, tells = self._sent.pop(key)
            if tells:
                self.happened("outcome", on, tag=str(delivery.tag), outcome=outcome)
            else:
                self._outcomes[key] = outcome

    def echo(self, on: str, token: str) -> Told:
        """Send a message again, as Proton gave it."""
        return self._sending(on, self.kept(token)[1], False, True)
