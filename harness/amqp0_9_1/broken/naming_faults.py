"""Conditions and effects that are wrong about names of queues: those a server makes, and the blank one."""

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.names import first_free, generate_name
from harness.amqp0_9_1.peer.tables.queue import becomes_current, bind_to_the_default_exchange, create_queue
from harness.amqp0_9_1.peer.turn import Tables


def generate_name_of_the_connection(turn: Turn) -> None:
    """Counts the unnamed queues of each connection by itself."""
    mine = [each.name for each in turn.host.queues.values() if each.owner is turn.connection]
    turn.event = turn.event.replace(queue=first_free("amq.gen-", mine))


def count_names_anew(turn: Turn) -> None:
    turn.peer.names = 0


def create_queue_if_new(turn: Turn) -> None:
    """Makes a queue of its generated name, if there is none: else the one that has it is taken."""
    if turn.find_queue() is None:
        create_queue(turn)
        bind_to_the_default_exchange(turn)


def gives_names_again(tables: Tables) -> Tables:
    """Counts names anew after a restart, and takes a queue that has such a name for the new one."""
    taking = tables.replacing(
        "queue.declare: creates one with a generated name",
        effects=(generate_name, create_queue_if_new, becomes_current),
    )
    return taking.replacing("restart: keeps pre-declared exchanges", effects=(count_names_anew,))


def becomes_current_if_confirmed(turn: Turn) -> None:
    """Makes the declared queue the current one where Declare-Ok says so."""
    if not turn.event.no_wait:
        becomes_current(turn)
