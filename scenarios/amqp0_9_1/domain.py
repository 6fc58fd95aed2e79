"""Domains: values that have a meaning wherever they occur."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.amqp0_9_1.client import Passage, methods_received
from harness.amqp0_9_1.deviations import rewrites
from harness.amqp0_9_1.vocabulary import Basic
from harness.context import Sighting
from scenarios.registry import broken_by, watch


@watch("0-9-1/domain.delivery-tag.non-zero", during="0-9-1/basic.10")
@broken_by("counts deliveries from zero", rewrites(Basic.Deliver, delivery_tag=lambda tag: tag - 1))
def no_delivery_tag_is_zero(transcript: Iterable[Passage]) -> Iterator[Sighting]:
    """Every Deliver and Get-Ok of the run carries a delivery-tag other than zero."""
    for at, method in methods_received(transcript):
        if isinstance(method, Basic.Deliver | Basic.GetOk):
            tag = method.delivery_tag
            yield Sighting(tag != 0, f"{method.full_name} with delivery-tag {tag} at {at:.4f} s")
