# Written from the grammar by `python -m harness.amqp_fast.wire.stub`; do not edit.
from harness.amqp_fast.wire.commands import Command, Record
from harness.amqp_fast.wire.tables import Fields, Table
from spec.readers.amqp_fast import Grammar

GRAMMAR: Grammar
COMMANDS: dict[int, type[Command]]
QUEUE: int
TOPIC: int
ANY: int
OK: int
MESSAGE_NOT_FOUND: int
MESSAGE_TOO_LARGE: int
NOT_IMPLEMENTED: int
INVALID_MESSAGE_CONTENTS: int

class Connection:
    class Challenge(Command):
        version: int
        mechanisms: bytes
        challenges: Table
        def __init__(
            self,
            version: int = ...,
            mechanisms: str | bytes = ...,
            challenges: Fields = ...,
        ) -> None: ...

    class Response(Command):
        mechanism: bytes
        responses: Table
        def __init__(self, mechanism: str | bytes = ..., responses: Fields = ...) -> None: ...

    class Tune(Command):
        options: Table
        dictionary: Table
        def __init__(self, options: Fields = ..., dictionary: Fields = ...) -> None: ...

    class Open(Command):
        confirm_tag: int
        virtual_path: bytes
        client_name: bytes
        options: Table
        def __init__(
            self,
            confirm_tag: int = ...,
            virtual_path: str | bytes = ...,
            client_name: str | bytes = ...,
            options: Fields = ...,
        ) -> None: ...

    class Ping(Command):
        respond: bool
        def __init__(self, respond: bool = ...) -> None: ...

    class Reply(Command):
        confirm_tag: int
        reply_code: int
        reply_text: bytes
        def __init__(
            self,
            confirm_tag: int = ...,
            reply_code: int = ...,
            reply_text: str | bytes = ...,
        ) -> None: ...

    class Close(Command):
        reply_code: int
        reply_text: bytes
        def __init__(self, reply_code: int = ..., reply_text: str | bytes = ...) -> None: ...

class Channel:
    class Open(Command):
        channel_id: int
        confirm_tag: int
        transacted: bool
        restartable: bool
        options: Table
        out_of_band: bytes
        def __init__(
            self,
            channel_id: int = ...,
            confirm_tag: int = ...,
            transacted: bool = ...,
            restartable: bool = ...,
            options: Fields = ...,
            out_of_band: str | bytes = ...,
        ) -> None: ...

    class Ack(Command):
        channel_id: int
        confirm_tag: int
        message_nbr: int
        def __init__(self, channel_id: int = ..., confirm_tag: int = ..., message_nbr: int = ...) -> None: ...

    class Commit(Command):
        channel_id: int
        confirm_tag: int
        options: Table
        def __init__(self, channel_id: int = ..., confirm_tag: int = ..., options: Fields = ...) -> None: ...

    class Rollback(Command):
        channel_id: int
        confirm_tag: int
        options: Table
        def __init__(self, channel_id: int = ..., confirm_tag: int = ..., options: Fields = ...) -> None: ...

    class Reply(Command):
        channel_id: int
        confirm_tag: int
        reply_code: int
        reply_text: bytes
        def __init__(
            self,
            channel_id: int = ...,
            confirm_tag: int = ...,
            reply_code: int = ...,
            reply_text: str | bytes = ...,
        ) -> None: ...

    class Close(Command):
        channel_id: int
        reply_code: int
        reply_text: bytes
        def __init__(
            self,
            channel_id: int = ...,
            reply_code: int = ...,
            reply_text: str | bytes = ...,
        ) -> None: ...

class Handle:
    class Open(Command):
        channel_id: int
        handle_id: int
        confirm_tag: int
        producer: bool
        consumer: bool
        browser: bool
        mime_type: bytes
        encoding: bytes
        options: Table
        def __init__(
            self,
            channel_id: int = ...,
            handle_id: int = ...,
            confirm_tag: int = ...,
            producer: bool = ...,
            consumer: bool = ...,
            browser: bool = ...,
            mime_type: str | bytes = ...,
            encoding: str | bytes = ...,
            options: Fields = ...,
        ) -> None: ...

    class Send(Command):
        handle_id: int
        confirm_tag: int
        service_type: int
        fragment_size: int
        partial: bool
        out_of_band: bool
        recovery: bool
        dest_name: bytes
        def __init__(
            self,
            handle_id: int = ...,
            confirm_tag: int = ...,
            service_type: int = ...,
            fragment_size: int = ...,
            partial: bool = ...,
            out_of_band: bool = ...,
            recovery: bool = ...,
            dest_name: str | bytes = ...,
        ) -> None: ...

    class Consume(Command):
        handle_id: int
        confirm_tag: int
        service_type: int
        prefetch: int
        no_local: bool
        no_ack: bool
        dynamic: bool
        exclusive: bool
        dest_name: bytes
        selector: Table
        def __init__(
            self,
            handle_id: int = ...,
            confirm_tag: int = ...,
            service_type: int = ...,
            prefetch: int = ...,
            no_local: bool = ...,
            no_ack: bool = ...,
            dynamic: bool = ...,
            exclusive: bool = ...,
            dest_name: str | bytes = ...,
            selector: Fields = ...,
        ) -> None: ...

    class Flow(Command):
        handle_id: int
        confirm_tag: int
        flow_pause: bool
        def __init__(self, handle_id: int = ..., confirm_tag: int = ..., flow_pause: bool = ...) -> None: ...

    class Unget(Command):
        handle_id: int
        confirm_tag: int
        message_nbr: int
        def __init__(self, handle_id: int = ..., confirm_tag: int = ..., message_nbr: int = ...) -> None: ...

    class Query(Command):
        handle_id: int
        message_nbr: int
        dest_name: bytes
        selector: bytes
        mime_type: bytes
        def __init__(
            self,
            handle_id: int = ...,
            message_nbr: int = ...,
            dest_name: str | bytes = ...,
            selector: str | bytes = ...,
            mime_type: str | bytes = ...,
        ) -> None: ...

    class Browse(Command):
        handle_id: int
        confirm_tag: int
        message_nbr: int
        def __init__(self, handle_id: int = ..., confirm_tag: int = ..., message_nbr: int = ...) -> None: ...

    class Created(Command):
        handle_id: int
        dest_name: bytes
        def __init__(self, handle_id: int = ..., dest_name: str | bytes = ...) -> None: ...

    class Notify(Command):
        handle_id: int
        message_nbr: int
        fragment_size: int
        partial: bool
        out_of_band: bool
        recovery: bool
        delivered: bool
        redelivered: bool
        dest_name: bytes
        def __init__(
            self,
            handle_id: int = ...,
            message_nbr: int = ...,
            fragment_size: int = ...,
            partial: bool = ...,
            out_of_band: bool = ...,
            recovery: bool = ...,
            delivered: bool = ...,
            redelivered: bool = ...,
            dest_name: str | bytes = ...,
        ) -> None: ...

    class Index(Command):
        handle_id: int
        message_nbr: int
        message_list: bytes
        def __init__(
            self,
            handle_id: int = ...,
            message_nbr: int = ...,
            message_list: str | bytes = ...,
        ) -> None: ...

    class Prepare(Command):
        handle_id: int
        fragment_size: int
        content_hash: bytes
        def __init__(
            self,
            handle_id: int = ...,
            fragment_size: int = ...,
            content_hash: str | bytes = ...,
        ) -> None: ...

    class Ready(Command):
        handle_id: int
        message_size: int
        def __init__(self, handle_id: int = ..., message_size: int = ...) -> None: ...

    class Reply(Command):
        handle_id: int
        confirm_tag: int
        reply_code: int
        reply_text: bytes
        def __init__(
            self,
            handle_id: int = ...,
            confirm_tag: int = ...,
            reply_code: int = ...,
            reply_text: str | bytes = ...,
        ) -> None: ...

    class Close(Command):
        handle_id: int
        reply_code: int
        reply_text: bytes
        def __init__(
            self,
            handle_id: int = ...,
            reply_code: int = ...,
            reply_text: str | bytes = ...,
        ) -> None: ...

class MessageHead(Record):
    body_size: int
    persistent: bool
    priority: int
    expiration: int
    mime_type: bytes
    encoding: bytes
    identifier: bytes
    headers: Table
    def __init__(
        self,
        body_size: int = ...,
        persistent: bool = ...,
        priority: int = ...,
        expiration: int = ...,
        mime_type: str | bytes = ...,
        encoding: str | bytes = ...,
        identifier: str | bytes = ...,
        headers: Fields = ...,
    ) -> None: ...
