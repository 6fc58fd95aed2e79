"""The words of AMQP 0-9-1: `Queue.Declare`, `Basic.Properties`, `RESOURCE_LOCKED`, made from the documents.

What only some products know is among them (`Basic.Nack`): it is decoded wherever it comes.

`vocabulary.pyi` beside this file is written from the same grammar (`python -m harness.amqp0_9_1.wire.stub`),
so that editors and the type checker know every method and field; a test keeps the two together.
"""

from types import SimpleNamespace

from harness.amqp0_9_1.wire.compiled import Codec
from harness.amqp0_9_1.wire.fields import class_name
from spec.applicability import vocabulary

GRAMMAR = vocabulary("0-9-1")
CODEC = Codec(GRAMMAR)

for _class in GRAMMAR.classes:
    _members = {class_name(each.name): CODEC.methods[each.full_name] for each in _class.methods}
    if _class.properties:
        _members["Properties"] = CODEC.properties[_class.index]
    globals()[class_name(_class.name)] = SimpleNamespace(**_members)

for _constant in GRAMMAR.constants:
    globals()[_constant.name.replace("-", "_").upper()] = _constant.value
