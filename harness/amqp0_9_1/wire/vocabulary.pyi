# Written from the grammar by `python -m harness.amqp0_9_1.wire.stub`; do not edit.
from harness.amqp0_9_1.wire.compiled import Codec, Method
from harness.amqp0_9_1.wire.compiled import Properties as ContentProperties
from harness.amqp0_9_1.wire.field_tables import Table
from spec.readers.amqp0_9_1 import Grammar

GRAMMAR: Grammar
CODEC: Codec
FRAME_METHOD: int
FRAME_HEADER: int
FRAME_BODY: int
FRAME_HEARTBEAT: int
FRAME_MIN_SIZE: int
FRAME_END: int
REPLY_SUCCESS: int
CONTENT_TOO_LARGE: int
NO_CONSUMERS: int
CONNECTION_FORCED: int
INVALID_PATH: int
ACCESS_REFUSED: int
NOT_FOUND: int
RESOURCE_LOCKED: int
PRECONDITION_FAILED: int
FRAME_ERROR: int
SYNTAX_ERROR: int
COMMAND_INVALID: int
CHANNEL_ERROR: int
UNEXPECTED_FRAME: int
RESOURCE_ERROR: int
NOT_ALLOWED: int
NOT_IMPLEMENTED: int
INTERNAL_ERROR: int

class Connection:
    class Start(Method):
        version_major: int
        version_minor: int
        server_properties: Table
        mechanisms: bytes
        locales: bytes
        def __init__(
            self,
            version_major: int = ...,
            version_minor: int = ...,
            server_properties: Table = ...,
            mechanisms: str | bytes = ...,
            locales: str | bytes = ...,
        ) -> None: ...

    class StartOk(Method):
        client_properties: Table
        mechanism: str
        response: bytes
        locale: str
        def __init__(
            self,
            client_properties: Table = ...,
            mechanism: str = ...,
            response: str | bytes = ...,
            locale: str = ...,
        ) -> None: ...

    class Secure(Method):
        challenge: bytes
        def __init__(self, challenge: str | bytes = ...) -> None: ...

    class SecureOk(Method):
        response: bytes
        def __init__(self, response: str | bytes = ...) -> None: ...

    class Tune(Method):
        channel_max: int
        frame_max: int
        heartbeat: int
        def __init__(self, channel_max: int = ..., frame_max: int = ..., heartbeat: int = ...) -> None: ...

    class TuneOk(Method):
        channel_max: int
        frame_max: int
        heartbeat: int
        def __init__(self, channel_max: int = ..., frame_max: int = ..., heartbeat: int = ...) -> None: ...

    class Open(Method):
        virtual_host: str
        reserved_1: str
        reserved_2: bool
        def __init__(
            self,
            virtual_host: str = ...,
            *,
            reserved_1: str = ...,
            reserved_2: bool = ...,
        ) -> None: ...

    class OpenOk(Method):
        reserved_1: str
        def __init__(self, *, reserved_1: str = ...) -> None: ...

    class Close(Method):
        reply_code: int
        reply_text: str
        class_id: int
        method_id: int
        def __init__(
            self,
            reply_code: int = ...,
            reply_text: str = ...,
            class_id: int = ...,
            method_id: int = ...,
        ) -> None: ...

    class CloseOk(Method):
        def __init__(self) -> None: ...

    class Blocked(Method):
        reason: str
        def __init__(self, reason: str = ...) -> None: ...

    class Unblocked(Method):
        def __init__(self) -> None: ...

    class UpdateSecret(Method):
        new_secret: bytes
        reason: str
        def __init__(self, new_secret: str | bytes = ..., reason: str = ...) -> None: ...

    class UpdateSecretOk(Method):
        def __init__(self) -> None: ...

class Channel:
    class Open(Method):
        reserved_1: str
        def __init__(self, *, reserved_1: str = ...) -> None: ...

    class OpenOk(Method):
        reserved_1: bytes
        def __init__(self, *, reserved_1: str | bytes = ...) -> None: ...

    class Flow(Method):
        active: bool
        def __init__(self, active: bool = ...) -> None: ...

    class FlowOk(Method):
        active: bool
        def __init__(self, active: bool = ...) -> None: ...

    class Close(Method):
        reply_code: int
        reply_text: str
        class_id: int
        method_id: int
        def __init__(
            self,
            reply_code: int = ...,
            reply_text: str = ...,
            class_id: int = ...,
            method_id: int = ...,
        ) -> None: ...

    class CloseOk(Method):
        def __init__(self) -> None: ...

class Exchange:
    class Declare(Method):
        exchange: str
        type: str
        passive: bool
        durable: bool
        auto_delete: bool
        internal: bool
        no_wait: bool
        arguments: Table
        reserved_1: int
        def __init__(
            self,
            exchange: str = ...,
            type: str = ...,
            passive: bool = ...,
            durable: bool = ...,
            auto_delete: bool = ...,
            internal: bool = ...,
            no_wait: bool = ...,
            arguments: Table = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class DeclareOk(Method):
        def __init__(self) -> None: ...

    class Delete(Method):
        exchange: str
        if_unused: bool
        no_wait: bool
        reserved_1: int
        def __init__(
            self,
            exchange: str = ...,
            if_unused: bool = ...,
            no_wait: bool = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class DeleteOk(Method):
        def __init__(self) -> None: ...

    class Bind(Method):
        destination: str
        source: str
        routing_key: str
        no_wait: bool
        arguments: Table
        reserved_1: int
        def __init__(
            self,
            destination: str = ...,
            source: str = ...,
            routing_key: str = ...,
            no_wait: bool = ...,
            arguments: Table = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class BindOk(Method):
        def __init__(self) -> None: ...

    class Unbind(Method):
        destination: str
        source: str
        routing_key: str
        no_wait: bool
        arguments: Table
        reserved_1: int
        def __init__(
            self,
            destination: str = ...,
            source: str = ...,
            routing_key: str = ...,
            no_wait: bool = ...,
            arguments: Table = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class UnbindOk(Method):
        def __init__(self) -> None: ...

class Queue:
    class Declare(Method):
        queue: str
        passive: bool
        durable: bool
        exclusive: bool
        auto_delete: bool
        no_wait: bool
        arguments: Table
        reserved_1: int
        def __init__(
            self,
            queue: str = ...,
            passive: bool = ...,
            durable: bool = ...,
            exclusive: bool = ...,
            auto_delete: bool = ...,
            no_wait: bool = ...,
            arguments: Table = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class DeclareOk(Method):
        queue: str
        message_count: int
        consumer_count: int
        def __init__(self, queue: str = ..., message_count: int = ..., consumer_count: int = ...) -> None: ...

    class Bind(Method):
        queue: str
        exchange: str
        routing_key: str
        no_wait: bool
        arguments: Table
        reserved_1: int
        def __init__(
            self,
            queue: str = ...,
            exchange: str = ...,
            routing_key: str = ...,
            no_wait: bool = ...,
            arguments: Table = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class BindOk(Method):
        def __init__(self) -> None: ...

    class Unbind(Method):
        queue: str
        exchange: str
        routing_key: str
        arguments: Table
        reserved_1: int
        def __init__(
            self,
            queue: str = ...,
            exchange: str = ...,
            routing_key: str = ...,
            arguments: Table = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class UnbindOk(Method):
        def __init__(self) -> None: ...

    class Purge(Method):
        queue: str
        no_wait: bool
        reserved_1: int
        def __init__(self, queue: str = ..., no_wait: bool = ..., *, reserved_1: int = ...) -> None: ...

    class PurgeOk(Method):
        message_count: int
        def __init__(self, message_count: int = ...) -> None: ...

    class Delete(Method):
        queue: str
        if_unused: bool
        if_empty: bool
        no_wait: bool
        reserved_1: int
        def __init__(
            self,
            queue: str = ...,
            if_unused: bool = ...,
            if_empty: bool = ...,
            no_wait: bool = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class DeleteOk(Method):
        message_count: int
        def __init__(self, message_count: int = ...) -> None: ...

class Basic:
    class Qos(Method):
        prefetch_size: int
        prefetch_count: int
        global_: bool
        def __init__(
            self,
            prefetch_size: int = ...,
            prefetch_count: int = ...,
            global_: bool = ...,
        ) -> None: ...

    class QosOk(Method):
        def __init__(self) -> None: ...

    class Consume(Method):
        queue: str
        consumer_tag: str
        no_local: bool
        no_ack: bool
        exclusive: bool
        no_wait: bool
        arguments: Table
        reserved_1: int
        def __init__(
            self,
            queue: str = ...,
            consumer_tag: str = ...,
            no_local: bool = ...,
            no_ack: bool = ...,
            exclusive: bool = ...,
            no_wait: bool = ...,
            arguments: Table = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class ConsumeOk(Method):
        consumer_tag: str
        def __init__(self, consumer_tag: str = ...) -> None: ...

    class Cancel(Method):
        consumer_tag: str
        no_wait: bool
        def __init__(self, consumer_tag: str = ..., no_wait: bool = ...) -> None: ...

    class CancelOk(Method):
        consumer_tag: str
        def __init__(self, consumer_tag: str = ...) -> None: ...

    class Publish(Method):
        exchange: str
        routing_key: str
        mandatory: bool
        immediate: bool
        reserved_1: int
        def __init__(
            self,
            exchange: str = ...,
            routing_key: str = ...,
            mandatory: bool = ...,
            immediate: bool = ...,
            *,
            reserved_1: int = ...,
        ) -> None: ...

    class Return(Method):
        reply_code: int
        reply_text: str
        exchange: str
        routing_key: str
        def __init__(
            self,
            reply_code: int = ...,
            reply_text: str = ...,
            exchange: str = ...,
            routing_key: str = ...,
        ) -> None: ...

    class Deliver(Method):
        consumer_tag: str
        delivery_tag: int
        redelivered: bool
        exchange: str
        routing_key: str
        def __init__(
            self,
            consumer_tag: str = ...,
            delivery_tag: int = ...,
            redelivered: bool = ...,
            exchange: str = ...,
            routing_key: str = ...,
        ) -> None: ...

    class Get(Method):
        queue: str
        no_ack: bool
        reserved_1: int
        def __init__(self, queue: str = ..., no_ack: bool = ..., *, reserved_1: int = ...) -> None: ...

    class GetOk(Method):
        delivery_tag: int
        redelivered: bool
        exchange: str
        routing_key: str
        message_count: int
        def __init__(
            self,
            delivery_tag: int = ...,
            redelivered: bool = ...,
            exchange: str = ...,
            routing_key: str = ...,
            message_count: int = ...,
        ) -> None: ...

    class GetEmpty(Method):
        reserved_1: str
        def __init__(self, *, reserved_1: str = ...) -> None: ...

    class Ack(Method):
        delivery_tag: int
        multiple: bool
        def __init__(self, delivery_tag: int = ..., multiple: bool = ...) -> None: ...

    class Reject(Method):
        delivery_tag: int
        requeue: bool
        def __init__(self, delivery_tag: int = ..., requeue: bool = ...) -> None: ...

    class RecoverAsync(Method):
        requeue: bool
        def __init__(self, requeue: bool = ...) -> None: ...

    class Recover(Method):
        requeue: bool
        def __init__(self, requeue: bool = ...) -> None: ...

    class RecoverOk(Method):
        def __init__(self) -> None: ...

    class Nack(Method):
        delivery_tag: int
        multiple: bool
        requeue: bool
        def __init__(self, delivery_tag: int = ..., multiple: bool = ..., requeue: bool = ...) -> None: ...

    class Properties(ContentProperties):
        content_type: str | None
        content_encoding: str | None
        headers: Table | None
        delivery_mode: int | None
        priority: int | None
        correlation_id: str | None
        reply_to: str | None
        expiration: str | None
        message_id: str | None
        timestamp: int | None
        type: str | None
        user_id: str | None
        app_id: str | None
        reserved: str | None
        def __init__(
            self,
            content_type: str | None = ...,
            content_encoding: str | None = ...,
            headers: Table | None = ...,
            delivery_mode: int | None = ...,
            priority: int | None = ...,
            correlation_id: str | None = ...,
            reply_to: str | None = ...,
            expiration: str | None = ...,
            message_id: str | None = ...,
            timestamp: int | None = ...,
            type: str | None = ...,
            user_id: str | None = ...,
            app_id: str | None = ...,
            reserved: str | None = ...,
        ) -> None: ...

class Tx:
    class Select(Method):
        def __init__(self) -> None: ...

    class SelectOk(Method):
        def __init__(self) -> None: ...

    class Commit(Method):
        def __init__(self) -> None: ...

    class CommitOk(Method):
        def __init__(self) -> None: ...

    class Rollback(Method):
        def __init__(self) -> None: ...

    class RollbackOk(Method):
        def __init__(self) -> None: ...

class Confirm:
    class Select(Method):
        nowait: bool
        def __init__(self, nowait: bool = ...) -> None: ...

    class SelectOk(Method):
        def __init__(self) -> None: ...
