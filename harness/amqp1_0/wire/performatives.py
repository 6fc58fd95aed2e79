"""The words of AMQP 1.0: `Open`, `Transfer`, `Source`, `SaslInit`, `AmqpError.NOT_FOUND`, from the grammar.

`performatives.pyi` beside this file is written from the same grammar (`python -m harness.amqp1_0.wire.stub`),
so that editors and the type checker know every type and field; a test keeps the two together.
"""

from types import SimpleNamespace

from harness.amqp1_0.wire.composites import CLASSES, choices
from harness.amqp1_0.wire.generated import GRAMMAR, class_name, constant_name

for _name, _class in CLASSES.items():
    globals()[class_name(_name)] = _class

for _restricted in GRAMMAR.restricted:
    if _restricted.choices:
        _values = {constant_name(name): value for name, value in choices(_restricted.name).items()}
        globals()[class_name(_restricted.name)] = SimpleNamespace(**_values)

for _constant in GRAMMAR.constants:
    globals()[constant_name(_constant.name)] = _constant.value
