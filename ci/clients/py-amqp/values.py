"""Values of tables, as lines have them and as py-amqp takes them."""

import contract_values
from contract_values import Makers

MOST = (1 << 31) - 1
"""What py-amqp sends as I; all beyond goes as L."""
MAKERS: Makers = {
    "i32": contract_values.fitting("i32", (-MOST, MOST)),
    "i64": contract_values.fitting("i64", (-(1 << 63), -MOST - 1), (MOST + 1, (1 << 63) - 1)),
    "f64": contract_values.double,
    "dec": contract_values.decimal,
    "time": contract_values.moment,
    "bin": bytes.fromhex,
}
