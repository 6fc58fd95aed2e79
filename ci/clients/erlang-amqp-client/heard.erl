%% What amqp_client tells of a connection or a channel, and what its errors mean.
-module(heard).
-export([explain/1, message/2, arrived/4]).

-include_lib("amqp_client/include/amqp_client.hrl").

%% Say in the contract's words what the library throws or ends with.
explain(Why) -> explain(Why, channel).

explain({Why, {gen_server, call, _}}, Level) -> explain(Why, Level);
explain({shutdown, Why}, Level) -> explain(Why, Level);
explain({connection_closing, Why}, _) -> explain(Why, connection);
explain({server_initiated_close, Code, Text}, Level) -> {refused, closed, Text, #{level => Level, code => Code}};
explain({auth_failure, "Disconnected"}, Level) -> explain(closed, Level);
explain({auth_failure, Text}, _) -> {refused, closed, list_to_binary(Text), #{level => connection, code => 403}};
explain(timeout, _) -> {refused, timeout, <<"timeout">>, #{}};
%% Of a close that answers connection.open it tells only this.
explain(Why, _) when Why =:= not_allowed; Why =:= access_refused; Why =:= invalid_path; Why =:= connection_forced ->
    {refused, closed, atom_to_binary(Why), #{level => connection}};
explain({Why, _}, Level) when Why =:= socket_error; Why =:= socket_closed_unexpectedly -> explain(closed, Level);
explain(Why, _) ->
    Lost = [socket_closed_unexpectedly, closed, econnrefused, econnreset, nxdomain, ehostunreach, etimedout],
    Kind = case lists:member(Why, Lost) of true -> lost; false -> local end,
    {refused, Kind, iolist_to_binary(io_lib:format("~0P", [Why, 20])), #{}}.

%% What comes to the listener of a connection or channel.
message(Name, {'DOWN', _, process, _, Why}) ->
    Level = case binary:match(Name, <<"/">>) of nomatch -> connection; _ -> channel end,
    case Why of
        normal -> contract:'end'(Name, {refused, local, <<Name/binary, " has been closed">>, #{}});
        {shutdown, {connection_closing, _}} -> contract:'end'(Name, explain(Why));
        shutdown when Level =:= channel -> ok; % what ended its connection is the reason
        _ -> contract:fall(Name, explain(Why, Level))
    end;
message(Name, {#'basic.deliver'{} = Deliver, Message}) ->
    #'basic.deliver'{consumer_tag = Consumer, delivery_tag = Tag, redelivered = Again} = Deliver,
    Told = arrived(Tag, Deliver#'basic.deliver'.exchange, Deliver#'basic.deliver'.routing_key, Message),
    contract:tell(Name, #{event => message, tag => Consumer, message => Told#{redelivered => Again}});
message(Name, {#'basic.return'{reply_code = Code, reply_text = Text, exchange = Exchange, routing_key = Key}, Message}) ->
    contract:tell(Name, #{event => returned, code => Code, text => Text, message => arrived(0, Exchange, Key, Message)});
message(Name, #'basic.cancel'{consumer_tag = Tag}) -> contract:tell(Name, #{event => cancelled, tag => Tag});
message(_, _) -> ok.

%% Tell a message, with the token by which it is settled and echoed.
arrived(Tag, Exchange, Key, #amqp_msg{props = Properties, payload = Body} = Message) ->
    Told = (contract:measured(Body))#{token => contract:token({Tag, Message}), exchange => Exchange, key => Key},
    Told#{properties => values:told(Properties)}.
