"""A web page about methods, cut into sentences."""

from spec.readers.pages import FRONT
from spec.readers.reference import reference

TEXT = """This page is a reference. A server must not be judged by it.
Classes
(back to top)The following are defined:
exchange
Work with exchanges.
Class Grammar:
exchange = C:BIND S:BIND-OK
Methods
bind(
Bind one. A server MUST allow it.
Parameters:
short reserved-1
exchange-name destination
The name.
A client MUST NOT do it.
Error code: not-foundThe server MUST accept it. It is "so".
Error code: precondition-failed
no-wait no-wait
(back to top)bind-ok()
This confirms it.
(back to top)queue
Work with queues.
"""


def test_sentences_know_class_method_and_parameter() -> None:
    assert [(each.section, each.line, each.text) for each in reference(TEXT)] == [
        (FRONT, 1, "This page is a reference."),
        (FRONT, 1, "A server must not be judged by it."),
        (FRONT, 2, "Classes"),
        (FRONT, 3, "The following are defined:"),
        ("exchange", 5, "Work with exchanges."),
        ("exchange", 6, "Class Grammar:"),
        ("exchange", 7, "exchange = C:BIND S:BIND-OK"),
        ("exchange", 8, "Methods"),
        ("exchange.bind", 10, "Bind one."),
        ("exchange.bind", 10, "A server MUST allow it."),
        ("exchange.bind", 11, "Parameters:"),
        ("exchange.bind.destination", 14, "The name."),
        ("exchange.bind.destination", 15, "A client MUST NOT do it."),
        ("exchange.bind.destination", 16, "The server MUST accept it."),
        ("exchange.bind.destination", 16, 'It is "so".'),
        ("exchange.bind-ok", 20, "This confirms it."),
        ("queue", 22, "Work with queues."),
    ]


def test_offset_leads_to_the_sentence() -> None:
    for each in reference(TEXT):
        assert TEXT[each.offset :].startswith(each.text)
