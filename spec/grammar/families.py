"""Families of rules that the grammar of AMQP 0-9-1 obliges to: one sentence each, with the names left open.

A family is data: what its rules are called and say, whom they bind, and how they are judged. Which methods,
fields, constants and types belong to it is read from the XML in `spec.grammar.rules`; nothing is listed here.
"""

from __future__ import annotations

from spec.grammar.bits import BITS
from spec.grammar.current import CURRENT
from spec.grammar.family import Family
from spec.grammar.sent import SENT
from spec.rules import Level, Party, Testability

REACTION = (
    "It is a duty of the client; judged is how the server reacts, as strong as SHOULD: the constant "
    "describes "
    "the error and demands it in no words."
)
UNREAD = (
    "Arguments that are not there cannot be read: going on would be invention. What the server makes of a "
    "client's fault is judged, as strong as SHOULD: 4.10.1 states it as a principle, and who notices nothing "
    "before the connection is open has not broken the MUST of 2.2.4, which binds who detects an error."
)
UNDECODABLE = (
    "501 is for what cannot be decoded, 502 for illegal values, and the document does not draw the line: "
    "either "
    "will do. Before the connection is open errors are not answered (2.2.4); a silent end is as good there."
)
ILLEGAL = (
    "502 is for illegal values, the rules about names in Declare say 406, and what has an illegal name "
    "is not "
    "found (404): each will do, on the level of its class. What follows Close, an empty response, and a "
    "channel-max of zero have a meaning of their own elsewhere in the document; what is made of them is "
    "recorded, "
    "as is a name of 128 octets that is taken whole, for a short string holds 255."
)
LEVELS = (
    "A server may refuse what is provoked with another code that fits: then this one was not seen, and "
    "nothing is "
    "judged. Unbind ends the connection whatever its code (queue.unbind.01), so it is not used here."
)


FAMILIES = (
    Family(
        "answers",
        "answers",
        "A server {duty} implement {method}, and answers it with {responses}.",
        "Send {method} with all that has to be there before it; what comes first is {responses}. So it is "
        "with each of its bits, if it has any, set where it was not and the other way round, no-wait apart.",
    ),
    Family(
        "implemented",
        "implemented",
        "A server {duty} implement {method}, to which the grammar names no response.",
        "Send {method} where it has its place; it has its effect, and channel and connection live on.",
    ),
    Family(
        "client",
        "client-implements",
        "A client {duty} implement {method}.",
        "A server under our control sends {method} and looks at what the client makes of it.",
        binds=Party.CLIENT,
        judged=Party.CLIENT,
        testability=Testability.CLIENT,
        reason="The chassis makes it a duty of the client; a run against a server shows the server's "
        "side only.",
    ),
    Family(
        "no-wait",
        "no-wait",
        "With no-wait set the server carries {method} out and sends no {responses}.",
        "Send {method} with no-wait: the answer to a later method is the first, and what was asked is done.",
        reason="No keyword: the domain defines the bit. A response that nobody awaits is taken for that to "
        "the next request, so that peers which differ in it do not understand each other.",
    ),
    Family(
        "assert",
        "{field}.assert-{check}",
        "A client keeps {field} of {method} {constraint}; the server refuses one that is not.",
        "Send {method} with a good {field}, then with one that breaks this.",
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason=REACTION,
        reading=ILLEGAL,
        error="syntax-error",
    ),
    Family(
        "keeps",
        "{field}.keeps-{check}",
        "In every {method} the server sends, {field} is {constraint}.",
        "Look at every {method} the server sends in the run.",
        testability=Testability.PASSIVE,
        reason="No keyword: an assertion is what has to be true for processing to go on (1.4.3), so a client "
        "that is made from the grammar goes no further where one fails.",
    ),
    Family(
        "level",
        "level",
        "The reply code {code} ({constant}) is a {class} and comes in a Close of the {closes}.",
        "Provoke the error {constant}: where its code comes, it comes in {closes}.close.",
        most=Level.SHOULD,
        see=("2.3.6.error-level",),
        reason="4.8.1 couples the class of an error and what is closed only as the usual case.",
        reading=LEVELS,
    ),
    Family(
        "kept-level",
        "level",
        "The reply code {code} ({constant}) is a {class} and comes in a Close of the {closes}.",
        "Look at every Close with this code that the server sends in the run: it is a {closes}.close.",
        most=Level.SHOULD,
        testability=Testability.PASSIVE,
        see=("2.3.6.error-level",),
        reason="4.8.1 couples the class of an error and what is closed only as the usual case. Which limits "
        "a server has is its own affair (4.9), and so are its faults: no client can cause this error at "
        "will. It is watched for wherever a server gives it.",
        reading="A Close with another code says nothing of this one: where none has it, the rule is "
        "inapplicable.",
    ),
    Family(
        "property",
        "{field}.round-trip",
        "The property {field} of {class} content reaches the consumer as it was published.",
        "Publish messages with ordinary and extreme values of {field}; each comes with the same.",
        see=("3.1.1.header-kept",),
        reason="The MUST is that of 3.1.1: nothing in a content header may be changed.",
    ),
    Family(
        "table",
        "round-trip",
        "A value of the type {type} (tag {tag}) in a field table reaches the consumer as it was published.",
        "Publish messages whose headers hold values of the type {type}; they come with the same type and "
        "value.",
        reason="No keyword: 4.2.5.5 calls the types of the grammar the valid ones, so that a value of each "
        "may be published. The MUST is that of 3.1.1 for a content header: nothing in it may be changed.",
    ),
    Family(
        "truncated",
        "truncated",
        "A server refuses {method} when its frame ends before its last argument does.",
        "Send {method} whole, then in a frame that ends one octet early.",
        see=("4.10.1.invalid-data-closes",),
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason=UNREAD,
        reading=UNDECODABLE,
        error="frame-error",
    ),
    Family(
        "overlong",
        "overlong",
        "A server refuses {method} when the length of its {field} reaches beyond the frame.",
        "Send {method} whole, then with a length in {field} that is longer than the rest of the frame.",
        see=("4.10.1.invalid-data-closes",),
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason=UNREAD,
        reading=UNDECODABLE,
        error="frame-error",
    ),
    Family(
        "trailing",
        "trailing",
        "A server refuses {method} when octets follow its last argument.",
        "Send {method} whole, then with one octet more in its frame.",
        see=("2.3.5.1.one-command-per-frame",),
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason=REACTION,
        reading=UNDECODABLE,
        error="frame-error",
    ),
    Family(
        "channel-zero",
        "channel-zero",
        "A server refuses {method} on channel zero, which belongs to the connection.",
        "Send {method} on its channel, then the same on channel 0.",
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason="Channel zero is the connection's and cannot be opened: no method of a channel is "
        "possible there. What the server makes of a client's fault is judged, as strong as SHOULD: no "
        "sentence obliges it.",
        reading="The document gives no code: 504 stands for content on channel zero (4.2.6.1), 503 for "
        "an invalid "
        "sequence of frames.",
        error="channel-error",
    ),
    Family(
        "unopened",
        "unopened-channel",
        "A server refuses {method} on a channel that is not open.",
        "Send {method} on an open channel, then the same on a channel nobody has opened, and on one that was "
        "open and has been closed.",
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason="The grammar of the class channel begins every use with Open. What the server makes of a "
        "client's fault is judged, as strong as SHOULD: no sentence obliges it.",
        error="channel-error",
    ),
    Family(
        "misplaced",
        "on-a-channel",
        "A server refuses {method} on another channel than zero.",
        "With an open connection and channel, send {method} on that channel.",
        see=("4.2.3.connection-method-on-channel-refused",),
        binds=Party.CLIENT,
        reason="4.2.3 demands the connection exception of the peer that receives such a frame.",
        error="command-invalid",
    ),
    Family(
        "wrong-way",
        "wrong-way",
        "A server refuses {method}, which is for servers to send.",
        "Use a channel, then send {method} on it as if we were the server.",
        see=("2.3.5.1.method-out-of-context-refused",),
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason=REACTION,
        reading="The document gives no code: 503 stands for an invalid sequence of frames, 505 for a "
        "frame that was "
        "not expected, 540 for what a server does not implement.",
        error="command-invalid",
    ),
    Family(
        "unknown-method",
        "unknown-method",
        "A server refuses a method of the class {class} with an index that no method has.",
        "Use the class {class}, then send its highest index plus one thousand.",
        see=("4.2.4.extension-classes-apart",),
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason=REACTION,
        reading="The document gives no code: 540 (not implemented), 503 (an invalid operation) and 501 "
        "(a frame that "
        "cannot be decoded) all fit.",
        error="not-implemented",
    ),
    Family(
        "unknown-class",
        "unknown-class",
        "A server refuses a method of a class that does not exist.",
        "Use a channel, then send a method of the class 61439, the highest reserved for standard classes.",
        see=("4.2.4.extension-classes-apart",),
        most=Level.SHOULD,
        binds=Party.CLIENT,
        reason=REACTION,
        reading="The document gives no code: 540 (not implemented), 503 (an invalid operation) and 501 "
        "(a frame that "
        "cannot be decoded) all fit.",
        error="not-implemented",
    ),
    Family(
        "frame",
        "out-of-place",
        "A server refuses a frame of the type {constant} that no content-bearing method announced.",
        "Use a channel, then send a frame of the type {constant} where a method is due.",
        see=("4.2.6.content-header-missing",),
        binds=Party.CLIENT,
        reason="4.2.6 demands the connection exception of the peer that receives such a content.",
        reading="4.2.6 demands 505 for a content that lacks a part. Whether frames that no method announced "
        "are a content it does not say: 505, whose definition they fit, is preferred, another end of the "
        "connection legal.",
        error="unexpected-frame",
    ),
    Family(
        "undefined-type",
        "undefined-type",
        "A server ends the connection on a frame whose type is none of {types}.",
        "Use a channel, then send a frame with the type 9 and an empty payload.",
        see=("4.2.3.unknown-frame-type-fatal",),
        binds=Party.CLIENT,
        reason="4.2.3 demands it of the peer that receives such a frame.",
        reading="4.2.3 ends the connection without a further octet, 2.3.7 by a hand-shake once it is open. "
        "The silent end is the letter and preferred; Close, 501 being the code that fits, is legal.",
        error="frame-error",
    ),
    Family(
        "content-missing",
        "content-missing",
        "A server refuses {method} when its content does not follow.",
        "Send {method} with its content, then {method} and another method instead of the content header.",
        see=("4.2.6.interrupted-content", "4.2.6.content-header-missing"),
        binds=Party.CLIENT,
        reason="4.2.6 demands the connection exception of the peer that receives such a content.",
        reading="4.2.6 demands 505 for a content that is incomplete, and also reads a frame of another kind "
        "as the end of a content that is given up: that the later method is served is legal, not preferred. "
        "Another code is a miss.",
        error="unexpected-frame",
    ),
    Family(
        "content-class",
        "content-class",
        "A server refuses a content of {method} whose header names another class.",
        "Send {method} with its content, then with a header of another class.",
        see=("4.2.6.1.wrong-class-id-refused",),
        binds=Party.CLIENT,
        reason="4.2.6.1 demands the connection exception of the peer that receives such a header.",
        reading="4.2.6.1 says 501, the list in 4.2.6 says 505 for the same error: either will do, and "
        "nothing else.",
        error="frame-error",
    ),
    Family(
        "content-header",
        "content-header-truncated",
        "A server refuses a content of {method} whose header ends before its last property does.",
        "Send {method} with its content, then with a content header that ends one octet early.",
        see=("4.2.6.1.wrong-class-id-refused",),
        binds=Party.CLIENT,
        reason="4.2.6 demands the connection exception of the peer that receives such a content.",
        reading="4.2.6 says 505 for a badly formatted content, 501 is for frames that cannot be decoded, "
        "502 for illegal values: each will do, and nothing else.",
        error="unexpected-frame",
    ),
    Family(
        "content-body",
        "content-body-overlong",
        "A server refuses a content of {method} whose body is longer than its header says.",
        "Send {method} with its content, then with a body one octet longer than announced.",
        see=("4.2.6.body-beyond-size",),
        binds=Party.CLIENT,
        reason="4.2.6 demands the connection exception of the peer that receives such a content.",
        reading="4.2.6 demands 505 for a badly formatted content. 501 is for frames that cannot be decoded, "
        "which this one can; only its length is wrong: that is a miss, as is every other end.",
        error="unexpected-frame",
    ),
    CURRENT,
    BITS,
    SENT,
)
"""The families, in the order their rules are listed for one and the same place."""
