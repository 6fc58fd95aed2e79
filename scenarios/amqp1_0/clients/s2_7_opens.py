"""2.7.1 and 2.8 of clients: what a server may say in its open, and what it may not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from harness.amqp1_0.broken.deviations import (
    Interposer,
    forwards,
    is_extended,
    moves_frames,
    of_client,
    on_channels,
    precedes,
    respells,
    rewrites,
    withholds,
    withholds_frames,
)
from harness.amqp1_0.client.outcomes import Refusal, closed, refused, stream_ended
from harness.amqp1_0.server.client import Client
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, MIN_MAX_FRAME_SIZE, WORD, Frame
from harness.amqp1_0.wire.performatives import AmqpError, Begin, Close, Open, SaslInit
from harness.amqp1_0.wire.types import Map, Raw, Symbol
from harness.play.expect import ControlFailed, Inapplicable
from scenarios.amqp1_0.clients.s2_3_frames import HANGS_UP, QUIET, VAGUE
from scenarios.amqp1_0.connections.s2_3_2_amqp_frames import A_CLOSE, ENCODINGS, LIST32, begins
from scenarios.amqp1_0.definitions.s2_8_13_fields import KEY, OF_EVERY_TYPE, pairs_of
from scenarios.amqp1_0.definitions.s2_8_19_constant_definitions import TAKEN_FOR_512
from scenarios.amqp1_0.grammar.clients import lives
from scenarios.amqp1_0.performatives.s2_7_1_limits import filled, is_large
from scenarios.amqp1_0.performatives.s2_7_1_open import UNHEARD_OF, by_symbol, carries, lacks
from scenarios.registry import broken_by, scenario
from spec.rules import Role

PROPERTIES: Final = {f"x-{place}": value for place, value in enumerate(OF_EVERY_TYPE)}


def takes(client: Client, *meets: Interposer) -> None:
    """Judge that all goes as ever with each of these changes of what the server says."""
    lives(client)
    for each in meets:
        with client.works("all goes as ever"):
            lives(client, each)


def opens(**fields: Any) -> Interposer:
    return rewrites(Open, **fields)


def spelt(written: Callable[[Open], bytes]) -> Interposer:
    """Writes its open so."""
    return respells(Open, lambda opening: Raw(written(opening)))


def deaf_to(*names: str) -> Interposer:
    """Does not hear an open with such a field."""
    return withholds(Open, when=carries(*names))


@scenario("1-0/2.7.1.optional-fields-optional", role=Role.CLIENT)
@broken_by("wants more than a name", withholds(Open, when=lambda it: len(it.elements()) == 1), Role.CLIENT)
def a_client_takes_an_open_of_a_name_alone(client: Client) -> None:
    """To a server whose open is a list of one string all goes as ever."""
    takes(client, respells(Open, lambda it: Open(it.container_id)))


@scenario("1-0/2.7.1.descriptor-forms", role=Role.CLIENT)
@broken_by("knows the number only", withholds(Open, when=by_symbol), Role.CLIENT)
def a_client_knows_an_open_by_its_symbol(client: Client) -> None:
    """To a server whose open has the descriptor amqp:open:list all goes as ever."""
    takes(client, respells(Open, lambda it: it.sent_as(descriptor=Symbol(Open.spec.descriptor))))


@scenario("1-0/2.3.2.encodings-equal", role=Role.CLIENT)
@broken_by("knows no list32", withholds_frames(begins(0x00, 0x53, 0x10, LIST32)), Role.CLIENT)
def a_client_knows_every_encoding_of_an_open(client: Client) -> None:
    """Opens as list32, with a wide descriptor, all nulls, or other encodings of fields are taken alike."""
    takes(client, *map(spelt, ENCODINGS))


@scenario("1-0/2.3.2.extended-header-ignored", role=Role.CLIENT)
@broken_by("does not hear it", withholds_frames(is_extended), Role.CLIENT)
def a_client_ignores_the_extended_header(client: Client) -> None:
    """Frames behind an extended header that looks like a close, or is all 0xFF, are taken alike."""
    takes(
        client,
        *(moves_frames(lambda it: it.type == AMQP, extended=each) for each in (A_CLOSE, b"\xff" * 64)),
    )


@scenario("1-0/2.3.1.data-offset-locates-body", role=Role.CLIENT)
@broken_by("knows no offset but 2", withholds_frames(is_extended), Role.CLIENT)
def a_client_finds_the_body_where_the_offset_says(client: Client) -> None:
    """Frames with a DOFF of 3 and of 64 are taken like those with 2."""
    octets = (offset * WORD - 8 for offset in (3, 64))
    takes(client, *(moves_frames(lambda it: it.type == AMQP, extended=bytes(each)) for each in octets))


@scenario("1-0/2.7.1.en-us-supported", role=Role.CLIENT)
@broken_by("does not hear who wants it", deaf_to("incoming_locales"), Role.CLIENT)
def a_client_takes_en_us(client: Client) -> None:
    """To a server with en-US as incoming, and one with it as outgoing locale, all goes as ever."""
    takes(client, opens(incoming_locales=("en-US",)), opens(outgoing_locales=("en-US",)))


@scenario("1-0/2.7.1.unknown-locale-falls-back", role=Role.CLIENT)
@broken_by("does not hear Klingons", deaf_to("incoming_locales"), Role.CLIENT)
def a_client_bears_a_locale_it_does_not_know(client: Client) -> None:
    """To a server that permits i-klingon alone all goes as ever."""
    takes(client, opens(incoming_locales=("i-klingon",)))


@scenario("1-0/2.7.1.empty-locales", role=Role.CLIENT)
@broken_by("wants locales where an array is", deaf_to("incoming_locales"), Role.CLIENT)
def a_client_takes_empty_lists_of_locales(client: Client) -> None:
    """To a server whose lists of locales are arrays without elements all goes as ever."""
    takes(client, opens(outgoing_locales=(), incoming_locales=()))


@scenario("1-0/2.7.1.unknown-capabilities-harmless", role=Role.CLIENT)
@broken_by("refuses what it does not know", deaf_to("offered_capabilities"), Role.CLIENT)
def a_client_bears_unknown_capabilities(client: Client) -> None:
    """To a server that offers and desires what nobody knows all goes as ever."""
    takes(client, opens(offered_capabilities=(UNHEARD_OF,), desired_capabilities=(UNHEARD_OF,)))


@scenario("1-0/2.7.1.capability-single-or-array", role=Role.CLIENT)
@broken_by("wants none of them", deaf_to("desired_capabilities"), Role.CLIENT)
def a_client_takes_one_capability_alone_or_in_an_array(client: Client) -> None:
    """A capability, desired or offered, is taken as a symbol, and as an array of one symbol."""
    for single in (Symbol(UNHEARD_OF), (UNHEARD_OF,)):
        takes(client, opens(offered_capabilities=single), opens(desired_capabilities=single))


@scenario("1-0/2.7.1.unknown-properties-ignored", role=Role.CLIENT)
@broken_by(
    "refuses what it does not know",
    withholds(Open, when=lambda it: any(key == UNHEARD_OF for key, _ in pairs_of(it))),
    Role.CLIENT,
)
def a_client_bears_an_unknown_property(client: Client) -> None:
    """To a server with a property that nobody knows, and to one without product, all goes as ever."""
    takes(client, opens(properties={UNHEARD_OF: "nothing"}), opens(properties=Map()))


@scenario("1-0/2.8.13.fields-any-value", role=Role.CLIENT)
@broken_by("knows no such values", withholds(Open, when=lambda it: len(it.properties or ()) > 9), Role.CLIENT)
def a_client_takes_values_of_every_type(client: Client) -> None:
    """To a server whose properties have a value of every type, and a described one, all goes as ever."""
    takes(client, opens(properties=PROPERTIES))


@scenario("1-0/2.7.1.idle-time-out-zero", role=Role.CLIENT)
@broken_by(
    "takes it for a millisecond",
    rewrites(Open, when=lambda it: it.carried("idle_time_out") == 0, idle_time_out=1),
    Role.CLIENT,
)
def a_client_takes_no_time_out_for_none(client: Client) -> None:
    """To a server with an idle-time-out of 0 all goes as ever."""
    takes(client, opens(idle_time_out=0))


@scenario("1-0/2.7.1.hostname-default", role=Role.CLIENT)
@broken_by("hears nobody who names no host", withholds(Open, when=lacks("hostname")), Role.CLIENT)
def a_client_takes_an_open_without_hostname(client: Client) -> None:
    """To a server whose open names no host all goes as ever, as to one whose open names one."""
    lives(client, opens(hostname="here"))
    with client.works("all goes as ever"):
        lives(client, opens(hostname=None))


@scenario("1-0/2.7.1.min-max-frame-size-accepted", role=Role.CLIENT)
@broken_by("takes no large open", withholds_frames(is_large(Open)), Role.CLIENT)
@broken_by("takes no large begin", withholds_frames(is_large(Begin)), Role.CLIENT)
def a_client_takes_frames_of_512_octets(client: Client) -> None:
    """To a server whose open, the first frame of all, or whose begin has 512 octets all goes as ever."""
    takes(client, *(respells(kind, _filled) for kind in (Open, Begin)))


def _filled(said: Composite) -> Composite:
    return filled(said, MIN_MAX_FRAME_SIZE)


@scenario("1-0/2.7.1.highest-channel-usable", role=Role.CLIENT)
@broken_by("does not hear it", withholds_frames(on_channels(1)), Role.CLIENT)
def a_server_uses_the_highest_channel_of_a_client(client: Client) -> None:
    """A server that has its session on the channel that the client's channel-max names is used as ever.

    It states no channel-max itself, so that nothing else limits what the client's does.
    """
    lives(client, policy=replace(LENIENT, channel_max=None))
    with client.works("all goes as ever"):
        connection = lives(client, policy=replace(LENIENT, channel_max=None, outgoing_channel="highest"))
    said = [on for on, each in connection.link.said if isinstance(each, Begin)]
    if said[0] != connection.opened.channel_max:
        raise ControlFailed("a begin on the highest channel", f"begins on channels {said}")


@scenario("1-0/2.8.13.fields-other-key", role=Role.CLIENT)
@broken_by("gives no reason", VAGUE, Role.CLIENT)
def a_client_refuses_another_key_or_not(client: Client) -> None:
    """Properties of a server with a string, or null, for a key: whether they are refused is recorded."""
    lives(client, opens(properties={KEY: "good"}))
    for key in ("text", None):
        odd = opens(properties=Map([(key, "bad")]))
        failed = client.fails(lambda: lives(client, odd))  # noqa: B023 - done at once
        if failed:
            client.last.expect_ending(closed().recorded(), stream_ended().recorded())
        else:
            client.judge("all goes as ever", "", True)


@scenario("1-0/2.7.1.container-id-mandatory", role=Role.CLIENT)
@broken_by("hangs up", HANGS_UP, Role.CLIENT)
@broken_by("names it", rewrites(Open, when=lacks("container_id"), container_id="it"), Role.CLIENT)
def a_client_misses_the_container_id(client: Client) -> None:
    """A server whose open has null for its container-id is refused."""
    lives(client)
    failed = client.fails(lambda: lives(client, opens(container_id=None)))
    client.judge("it is refused", "all goes as ever", failed)
    client.last.expect_ending(*refused(Refusal.OPENED))


@scenario("1-0/2.8.19.minimum-frame-size-refused", role=Role.CLIENT)
@broken_by("hangs up", HANGS_UP, Role.CLIENT)
def a_client_agrees_on_no_less_than_512_octets(client: Client) -> None:
    """A server that states a max-frame-size of 511, or of 0, is refused, or taken for one with 512."""
    lives(client)
    for size in (MIN_MAX_FRAME_SIZE - 1, 0):
        failed = client.fails(lambda: lives(client, opens(max_frame_size=size)))  # noqa: B023 - done at once
        client.judge("it is refused", "it is taken for 512", failed, TAKEN_FOR_512)
        if failed:
            client.last.expect_ending(*refused(Refusal.OPENED))


@scenario("1-0/2.4.7.only-open-is-first", role=Role.CLIENT)
@broken_by("hangs up", HANGS_UP, Role.CLIENT)
@broken_by("says nothing of it", QUIET, Role.CLIENT)
def a_client_obeys_nothing_before_the_open(client: Client) -> None:
    """A server that sends a begin before its open is refused."""
    lives(client)
    client.connecting(precedes(Open, Begin(None, 0, 1, 1))).expect_ending(*refused(Refusal.OPENED))


@scenario("1-0/2.8.15.illegal-state", role=Role.CLIENT)
@broken_by("gives no reason", of_client(rewrites(Close, when=carries("error"), error=None)), Role.CLIENT)
def a_client_calls_a_frame_before_the_open_an_illegal_state(client: Client) -> None:
    """A server that sends a begin before its open is refused with illegal-state."""
    lives(client)
    connection = client.connecting(precedes(Open, Begin(None, 0, 1, 1)))
    connection.expect_ending(*refused(Refusal.CONDITION, AmqpError.ILLEGAL_STATE))


@scenario("1-0/2.7.1.channel-max-respected", role=Role.CLIENT)
@broken_by("knows no limit", rewrites(Open, channel_max=9), Role.CLIENT)
def a_client_uses_no_channel_above_the_servers(client: Client) -> None:
    """A client asked for two sessions on a server with a channel-max of 0 sends on channel 0 alone."""
    connection = client.connection(opens(channel_max=0))
    session = connection.session()
    connection.tries_session()
    connection.link.hear()
    highest = max(each.channel for each in connection.link.received() if isinstance(each, Frame))
    client.judge("frames on channel 0", f"a frame on channel {highest}", not (session.channel or highest))


@scenario("1-0/2.7.1.hostname-agrees-with-lower-layers", role=Role.CLIENT)
@broken_by("opens for another host", forwards(Open, hostname="another"), Role.CLIENT)
@broken_by("asks SASL for another", forwards(SaslInit, hostname="another"), Role.CLIENT)
def a_client_names_one_host_to_sasl_and_in_its_open(client: Client) -> None:
    """A hostname that SASL was given stands in the open, or none, told one by the application or not."""
    given = []
    for connection in (client.connection(hostname="there"), client.connection()):
        named = connection.opened.hostname
        given += [(each.hostname, named) for each in connection.sent(SaslInit) if each.hostname is not None]
    if not given:
        raise Inapplicable("the client gives SASL no hostname")
    agree = all(named in (None, before) for before, named in given)
    client.judge("the hostname of SASL, or none", "another hostname", agree)
