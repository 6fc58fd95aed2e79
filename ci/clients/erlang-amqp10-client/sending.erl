%% What amqp10_client sends, and what becomes of it.
-module(sending).
-export([send/2, echo/2]).

%% Send what is told so many times; the outcome is that of the last.
send(Told, On) ->
    %% On a link of settled messages it is left to the user to make each one so.
    Settled = maps:get(<<"settled">>, Told, false) orelse persistent_term:get({settled, On}, false),
    Wait = maps:get(<<"wait">>, Told, true),
    Messages = [messages:message(tag(), Settled, Told) || _ <- lists:seq(1, maps:get(<<"count">>, Told, 1))],
    Send = fun() -> [handed(On, Message, Settled, Wait) || Message <- Messages] end,
    case {Settled, Wait} of
        {_, false} ->
            spawn(fun() -> catch Send() end),
            #{tag => amqp10_msg:delivery_tag(lists:last(Messages))};
        {true, true} ->
            Send(),
            #{outcome => null};
        _ ->
            #{outcome => lists:last([contract:await({outcome, Tag}, On) || Tag <- Send()])}
    end.

%% Send a message again, as the library gave it.
echo(Message, On) ->
    Tag = handed(On, amqp10_msg:set_settled(false, Message), false, true),
    contract:await({outcome, Tag}, On),
    #{}.

tag() -> integer_to_binary(erlang:unique_integer([positive])).

%% Send it once there is credit, without which the library refuses to; gives its tag.
handed(On, Message, Settled, Wait) ->
    {Ref, _} = contract:find(On),
    [Connection | _] = binary:split(On, <<"/">>),
    Name = amqp10_msg:delivery_tag(Message),
    Settled orelse not Wait orelse contract:expect({outcome, Name}),
    contract:expect({credited, Ref}),
    Send = fun() -> put({tag, Name}, On), amqp10_client:send_msg(Ref, Message) end,
    case contract:inside(Connection, Send) of
        ok -> contract:met({credited, Ref}, unused);
        {error, insufficient_credit} ->
            contract:await({credited, Ref}, On),
            ok = contract:inside(Connection, Send);
        {error, Why} -> exit(Why)
    end,
    Name.
