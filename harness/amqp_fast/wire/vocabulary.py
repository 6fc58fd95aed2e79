"""The words of AMQP/Fast: `Handle.Open`, `MessageHead`, `QUEUE`, `MESSAGE_NOT_FOUND`, made from the grammar.

`vocabulary.pyi` beside this file is written from the same grammar (`python -m harness.amqp_fast.wire.stub`),
so that editors and the type checker know every command and field; a test keeps the two together.
"""

from types import SimpleNamespace

from harness.amqp_fast.wire.commands import class_name, commands, message_head
from spec.readers.amqp_fast import grammar

GRAMMAR = grammar()
COMMANDS = commands(GRAMMAR)
MessageHead = message_head(GRAMMAR)

for _group in dict.fromkeys(each.class_name for each in GRAMMAR.commands):
    _members = {
        class_name(each.name): COMMANDS[each.code] for each in GRAMMAR.commands if each.class_name == _group
    }
    globals()[class_name(_group)] = SimpleNamespace(**_members)

for _choices in GRAMMAR.choices.values():
    for _name, _value in _choices.items():
        globals()[_name.replace("-", "_").upper()] = _value
