"""AMQP 1.0: types, performatives, frames; what is built on them follows the document, section by section."""
