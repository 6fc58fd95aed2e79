# Written from the grammar by `python -m harness.amqp1_0.wire.stub`; do not edit.
from collections.abc import Mapping, Sequence
from typing import Any

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.types import Explicit, Map, Symbol

PORT: int
SECURE_PORT: int
MAJOR: int
MINOR: int
REVISION: int
MIN_MAX_FRAME_SIZE: int
SASL_MAJOR: int
SASL_MINOR: int
SASL_REVISION: int
TLS_MAJOR: int
TLS_MINOR: int
TLS_REVISION: int

class Role:
    SENDER: bool
    RECEIVER: bool

class SenderSettleMode:
    UNSETTLED: int
    SETTLED: int
    MIXED: int

class ReceiverSettleMode:
    FIRST: int
    SECOND: int

class AmqpError:
    INTERNAL_ERROR: Symbol
    NOT_FOUND: Symbol
    UNAUTHORIZED_ACCESS: Symbol
    DECODE_ERROR: Symbol
    RESOURCE_LIMIT_EXCEEDED: Symbol
    NOT_ALLOWED: Symbol
    INVALID_FIELD: Symbol
    NOT_IMPLEMENTED: Symbol
    RESOURCE_LOCKED: Symbol
    PRECONDITION_FAILED: Symbol
    RESOURCE_DELETED: Symbol
    ILLEGAL_STATE: Symbol
    FRAME_SIZE_TOO_SMALL: Symbol

class ConnectionError_:
    CONNECTION_FORCED: Symbol
    FRAMING_ERROR: Symbol
    REDIRECT: Symbol

class SessionError:
    WINDOW_VIOLATION: Symbol
    ERRANT_LINK: Symbol
    HANDLE_IN_USE: Symbol
    UNATTACHED_HANDLE: Symbol

class LinkError:
    DETACH_FORCED: Symbol
    TRANSFER_LIMIT_EXCEEDED: Symbol
    MESSAGE_SIZE_EXCEEDED: Symbol
    REDIRECT: Symbol
    STOLEN: Symbol

class TerminusDurability:
    NONE: int
    CONFIGURATION: int
    UNSETTLED_STATE: int

class TerminusExpiryPolicy:
    LINK_DETACH: Symbol
    SESSION_END: Symbol
    CONNECTION_CLOSE: Symbol
    NEVER: Symbol

class StdDistMode:
    MOVE: Symbol
    COPY: Symbol

class SaslCode:
    OK: int
    AUTH: int
    SYS: int
    SYS_PERM: int
    SYS_TEMP: int

class Open(Composite):
    @property
    def container_id(self) -> str: ...
    @property
    def hostname(self) -> str | None: ...
    @property
    def max_frame_size(self) -> int: ...
    @property
    def channel_max(self) -> int: ...
    @property
    def idle_time_out(self) -> int | None: ...
    @property
    def outgoing_locales(self) -> tuple[Symbol, ...]: ...
    @property
    def incoming_locales(self) -> tuple[Symbol, ...]: ...
    @property
    def offered_capabilities(self) -> tuple[Symbol, ...]: ...
    @property
    def desired_capabilities(self) -> tuple[Symbol, ...]: ...
    @property
    def properties(self) -> Map | None: ...
    def __init__(
        self,
        container_id: str | Explicit | None = ...,
        hostname: str | Explicit | None = ...,
        max_frame_size: int | Explicit | None = ...,
        channel_max: int | Explicit | None = ...,
        idle_time_out: int | Explicit | None = ...,
        outgoing_locales: str | Sequence[str] | Explicit | None = ...,
        incoming_locales: str | Sequence[str] | Explicit | None = ...,
        offered_capabilities: str | Sequence[str] | Explicit | None = ...,
        desired_capabilities: str | Sequence[str] | Explicit | None = ...,
        properties: Mapping[Any, Any] | Explicit | None = ...,
    ) -> None: ...

class Begin(Composite):
    @property
    def remote_channel(self) -> int | None: ...
    @property
    def next_outgoing_id(self) -> int: ...
    @property
    def incoming_window(self) -> int: ...
    @property
    def outgoing_window(self) -> int: ...
    @property
    def handle_max(self) -> int: ...
    @property
    def offered_capabilities(self) -> tuple[Symbol, ...]: ...
    @property
    def desired_capabilities(self) -> tuple[Symbol, ...]: ...
    @property
    def properties(self) -> Map | None: ...
    def __init__(
        self,
        remote_channel: int | Explicit | None = ...,
        next_outgoing_id: int | Explicit | None = ...,
        incoming_window: int | Explicit | None = ...,
        outgoing_window: int | Explicit | None = ...,
        handle_max: int | Explicit | None = ...,
        offered_capabilities: str | Sequence[str] | Explicit | None = ...,
        desired_capabilities: str | Sequence[str] | Explicit | None = ...,
        properties: Mapping[Any, Any] | Explicit | None = ...,
    ) -> None: ...

class Attach(Composite):
    @property
    def name(self) -> str: ...
    @property
    def handle(self) -> int: ...
    @property
    def role(self) -> bool: ...
    @property
    def snd_settle_mode(self) -> int: ...
    @property
    def rcv_settle_mode(self) -> int: ...
    @property
    def source(self) -> Any: ...
    @property
    def target(self) -> Any: ...
    @property
    def unsettled(self) -> Map | None: ...
    @property
    def incomplete_unsettled(self) -> bool: ...
    @property
    def initial_delivery_count(self) -> int | None: ...
    @property
    def max_message_size(self) -> int | None: ...
    @property
    def offered_capabilities(self) -> tuple[Symbol, ...]: ...
    @property
    def desired_capabilities(self) -> tuple[Symbol, ...]: ...
    @property
    def properties(self) -> Map | None: ...
    def __init__(
        self,
        name: str | Explicit | None = ...,
        handle: int | Explicit | None = ...,
        role: bool | Explicit | None = ...,
        snd_settle_mode: int | Explicit | None = ...,
        rcv_settle_mode: int | Explicit | None = ...,
        source: Any = ...,
        target: Any = ...,
        unsettled: Mapping[Any, Any] | Explicit | None = ...,
        incomplete_unsettled: bool | Explicit | None = ...,
        initial_delivery_count: int | Explicit | None = ...,
        max_message_size: int | Explicit | None = ...,
        offered_capabilities: str | Sequence[str] | Explicit | None = ...,
        desired_capabilities: str | Sequence[str] | Explicit | None = ...,
        properties: Mapping[Any, Any] | Explicit | None = ...,
    ) -> None: ...

class Flow(Composite):
    @property
    def next_incoming_id(self) -> int | None: ...
    @property
    def incoming_window(self) -> int: ...
    @property
    def next_outgoing_id(self) -> int: ...
    @property
    def outgoing_window(self) -> int: ...
    @property
    def handle(self) -> int | None: ...
    @property
    def delivery_count(self) -> int | None: ...
    @property
    def link_credit(self) -> int | None: ...
    @property
    def available(self) -> int | None: ...
    @property
    def drain(self) -> bool: ...
    @property
    def echo(self) -> bool: ...
    @property
    def properties(self) -> Map | None: ...
    def __init__(
        self,
        next_incoming_id: int | Explicit | None = ...,
        incoming_window: int | Explicit | None = ...,
        next_outgoing_id: int | Explicit | None = ...,
        outgoing_window: int | Explicit | None = ...,
        handle: int | Explicit | None = ...,
        delivery_count: int | Explicit | None = ...,
        link_credit: int | Explicit | None = ...,
        available: int | Explicit | None = ...,
        drain: bool | Explicit | None = ...,
        echo: bool | Explicit | None = ...,
        properties: Mapping[Any, Any] | Explicit | None = ...,
    ) -> None: ...

class Transfer(Composite):
    @property
    def handle(self) -> int: ...
    @property
    def delivery_id(self) -> int | None: ...
    @property
    def delivery_tag(self) -> bytes | None: ...
    @property
    def message_format(self) -> int | None: ...
    @property
    def settled(self) -> bool | None: ...
    @property
    def more(self) -> bool: ...
    @property
    def rcv_settle_mode(self) -> int | None: ...
    @property
    def state(self) -> Any: ...
    @property
    def resume(self) -> bool: ...
    @property
    def aborted(self) -> bool: ...
    @property
    def batchable(self) -> bool: ...
    def __init__(
        self,
        handle: int | Explicit | None = ...,
        delivery_id: int | Explicit | None = ...,
        delivery_tag: bytes | Explicit | None = ...,
        message_format: int | Explicit | None = ...,
        settled: bool | Explicit | None = ...,
        more: bool | Explicit | None = ...,
        rcv_settle_mode: int | Explicit | None = ...,
        state: Any = ...,
        resume: bool | Explicit | None = ...,
        aborted: bool | Explicit | None = ...,
        batchable: bool | Explicit | None = ...,
    ) -> None: ...

class Disposition(Composite):
    @property
    def role(self) -> bool: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int | None: ...
    @property
    def settled(self) -> bool: ...
    @property
    def state(self) -> Any: ...
    @property
    def batchable(self) -> bool: ...
    def __init__(
        self,
        role: bool | Explicit | None = ...,
        first: int | Explicit | None = ...,
        last: int | Explicit | None = ...,
        settled: bool | Explicit | None = ...,
        state: Any = ...,
        batchable: bool | Explicit | None = ...,
    ) -> None: ...

class Detach(Composite):
    @property
    def handle(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def error(self) -> Error | None: ...
    def __init__(
        self,
        handle: int | Explicit | None = ...,
        closed: bool | Explicit | None = ...,
        error: Error | Explicit | None = ...,
    ) -> None: ...

class End(Composite):
    @property
    def error(self) -> Error | None: ...
    def __init__(self, error: Error | Explicit | None = ...) -> None: ...

class Close(Composite):
    @property
    def error(self) -> Error | None: ...
    def __init__(self, error: Error | Explicit | None = ...) -> None: ...

class Error(Composite):
    @property
    def condition(self) -> Symbol: ...
    @property
    def description(self) -> str | None: ...
    @property
    def info(self) -> Map | None: ...
    def __init__(
        self,
        condition: str | Explicit | None = ...,
        description: str | Explicit | None = ...,
        info: Mapping[Any, Any] | Explicit | None = ...,
    ) -> None: ...

class Received(Composite):
    @property
    def section_number(self) -> int: ...
    @property
    def section_offset(self) -> int: ...
    def __init__(
        self,
        section_number: int | Explicit | None = ...,
        section_offset: int | Explicit | None = ...,
    ) -> None: ...

class Accepted(Composite):
    def __init__(self) -> None: ...

class Rejected(Composite):
    @property
    def error(self) -> Error | None: ...
    def __init__(self, error: Error | Explicit | None = ...) -> None: ...

class Released(Composite):
    def __init__(self) -> None: ...

class Modified(Composite):
    @property
    def delivery_failed(self) -> bool | None: ...
    @property
    def undeliverable_here(self) -> bool | None: ...
    @property
    def message_annotations(self) -> Map | None: ...
    def __init__(
        self,
        delivery_failed: bool | Explicit | None = ...,
        undeliverable_here: bool | Explicit | None = ...,
        message_annotations: Mapping[Any, Any] | Explicit | None = ...,
    ) -> None: ...

class Source(Composite):
    @property
    def address(self) -> Any: ...
    @property
    def durable(self) -> int: ...
    @property
    def expiry_policy(self) -> Symbol: ...
    @property
    def timeout(self) -> int: ...
    @property
    def dynamic(self) -> bool: ...
    @property
    def dynamic_node_properties(self) -> Map | None: ...
    @property
    def distribution_mode(self) -> Symbol | None: ...
    @property
    def filter(self) -> Map | None: ...
    @property
    def default_outcome(self) -> Any: ...
    @property
    def outcomes(self) -> tuple[Symbol, ...]: ...
    @property
    def capabilities(self) -> tuple[Symbol, ...]: ...
    def __init__(
        self,
        address: Any = ...,
        durable: int | Explicit | None = ...,
        expiry_policy: str | Explicit | None = ...,
        timeout: int | Explicit | None = ...,
        dynamic: bool | Explicit | None = ...,
        dynamic_node_properties: Mapping[Any, Any] | Explicit | None = ...,
        distribution_mode: str | Explicit | None = ...,
        filter: Mapping[Any, Any] | Explicit | None = ...,
        default_outcome: Any = ...,
        outcomes: str | Sequence[str] | Explicit | None = ...,
        capabilities: str | Sequence[str] | Explicit | None = ...,
    ) -> None: ...

class Target(Composite):
    @property
    def address(self) -> Any: ...
    @property
    def durable(self) -> int: ...
    @property
    def expiry_policy(self) -> Symbol: ...
    @property
    def timeout(self) -> int: ...
    @property
    def dynamic(self) -> bool: ...
    @property
    def dynamic_node_properties(self) -> Map | None: ...
    @property
    def capabilities(self) -> tuple[Symbol, ...]: ...
    def __init__(
        self,
        address: Any = ...,
        durable: int | Explicit | None = ...,
        expiry_policy: str | Explicit | None = ...,
        timeout: int | Explicit | None = ...,
        dynamic: bool | Explicit | None = ...,
        dynamic_node_properties: Mapping[Any, Any] | Explicit | None = ...,
        capabilities: str | Sequence[str] | Explicit | None = ...,
    ) -> None: ...

class SaslMechanisms(Composite):
    @property
    def sasl_server_mechanisms(self) -> tuple[Symbol, ...]: ...
    def __init__(self, sasl_server_mechanisms: str | Sequence[str] | Explicit | None = ...) -> None: ...

class SaslInit(Composite):
    @property
    def mechanism(self) -> Symbol: ...
    @property
    def initial_response(self) -> bytes | None: ...
    @property
    def hostname(self) -> str | None: ...
    def __init__(
        self,
        mechanism: str | Explicit | None = ...,
        initial_response: bytes | Explicit | None = ...,
        hostname: str | Explicit | None = ...,
    ) -> None: ...

class SaslChallenge(Composite):
    @property
    def challenge(self) -> bytes: ...
    def __init__(self, challenge: bytes | Explicit | None = ...) -> None: ...

class SaslResponse(Composite):
    @property
    def response(self) -> bytes: ...
    def __init__(self, response: bytes | Explicit | None = ...) -> None: ...

class SaslOutcome(Composite):
    @property
    def code(self) -> int: ...
    @property
    def additional_data(self) -> bytes | None: ...
    def __init__(
        self,
        code: int | Explicit | None = ...,
        additional_data: bytes | Explicit | None = ...,
    ) -> None: ...
