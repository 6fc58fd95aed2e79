"""How pika's values are made."""

import contract_values
from contract_values import Makers
from pika.compat import long

MAKERS: Makers = {
    "i32": int,  # as I; beyond 32 bits pika itself takes l
    "i64": lambda number: long(number),
    "dec": contract_values.decimal,
    "time": contract_values.moment,
    "bin": bytes.fromhex,
}
