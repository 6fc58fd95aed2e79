%% What amqp10_client sends to the listener of a connection, and what its reasons mean.
-module(heard).
-export([explain/1, message/2]).

-include_lib("amqp10_common/include/amqp10_framing.hrl").

explain({Why, {gen_statem, call, _}}) -> explain(Why);
explain({shutdown, Why}) -> explain(Why);
explain({failed_to_start_child, _, Why}) -> explain(Why);
explain(timeout) -> {refused, timeout, <<"timeout">>, #{}};
explain(sasl_auth_failure = Why) -> {refused, closed, atom_to_binary(Why), #{level => connection}};
explain(Why) ->
    Lost = [closed, shutdown, econnrefused, econnreset, nxdomain, ehostunreach, etimedout, {error, closed}],
    Kind = case lists:member(Why, Lost) of true -> lost; false -> local end,
    {refused, Kind, unicode:characters_to_binary(io_lib:format("~0P", [Why, 20])), #{}}.

%% What another side's close means; conditions come as atoms, where the library knows them.
closed(Level, Why) when Why =:= none; Why =:= normal -> {refused, closed, <<>>, #{level => Level}};
closed(Level, #'v1_0.error'{condition = Condition, description = Text}) ->
    closed(Level, {Condition, amqp10_client_types:unpack(Text)});
closed(Level, {Condition, Text}) ->
    More = #{level => Level, condition => condition(Condition)},
    {refused, closed, case Text of undefined -> <<>>; _ -> Text end, More};
closed(_, Why) -> explain(Why).

condition({symbol, Condition}) -> Condition;
condition(Condition) when Condition =:= forced; Condition =:= framing_error; Condition =:= redirect ->
    condition("amqp:connection:", Condition);
condition(Condition) -> condition("amqp:", Condition).

condition(Prefix, Condition) ->
    iolist_to_binary([Prefix, string:replace(atom_to_list(Condition), "_", "-", all)]).

message(_, {amqp10_event, {connection, _, opened}}) -> contract:met({opened, self()}, ok);
message(Name, {amqp10_event, {connection, Pid, {closed, Why}}}) ->
    contract:met({opened, self()}, Why) orelse over(Name, Pid, closed(connection, Why));
message(Name, {amqp10_event, {session, _, begun}}) -> contract:met({begun, Name}, ok);
message(_, {amqp10_event, {session, Pid, {ended, Why}}}) -> over(get({name, Pid}), Pid, closed(session, Why));
message(_, {amqp10_event, {link, Ref, attached}}) ->
    [Session, _] = string:split(get({name, Ref}), "/", trailing),
    contract:met({attached, Session}, ok);
message(_, {amqp10_event, {link, Ref, credited}}) -> contract:met({credited, Ref}, ok);
message(_, {amqp10_event, {link, Ref, {detached, Why}}}) ->
    case {get({leaving, Ref}), Why} of
        {true, normal} -> contract:met({down, Ref}, ok);
        _ -> contract:fall(get({name, Ref}), closed(link, Why))
    end;
message(_, {amqp10_disposition, {Outcome, Tag}}) ->
    Told = case Outcome of undefined -> null; _ -> Outcome end,
    contract:met({outcome, Tag}, Told) orelse
        contract:tell(erase({tag, Tag}), #{event => outcome, tag => Tag, outcome => Told});
message(_, {amqp10_msg, Ref, Message}) ->
    Told = (messages:told(Message))#{token => contract:token(Message)},
    Tag = string:lowercase(binary:encode_hex(amqp10_msg:delivery_tag(Message))),
    contract:tell(get({name, Ref}), #{event => message, tag => Tag, message => Told});
message(Name, {'DOWN', _, process, Pid, Why}) ->
    Left = get({leaving, Pid}) =:= true andalso contract:met({down, Pid}, ok),
    Left orelse contract:met({opened, self()}, Why) orelse
        case get({name, Pid}) of
            undefined -> contract:fall(Name, explain(case Why of normal -> closed; _ -> Why end));
            _ when Why =:= normal; Why =:= shutdown; Why =:= killed -> ok; % what ended its connection is the reason
            Session -> contract:fall(Session, explain(Why))
        end;
message(_, _) -> ok.

%% It is over, unless that was asked for.
over(Name, Object, Fate) -> get({leaving, Object}) =:= true orelse contract:fall(Name, Fate).
