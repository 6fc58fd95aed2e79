%% RabbitMQ's amqp10_client as a shim. It answers by messages to who called it, which is the listener of each connection.
-module(shim).
-export([main/0, about/0, command/3, explain/1, heard/2]).

main() ->
    {ok, _} = application:ensure_all_started(amqp10_client),
    contract:serve(?MODULE).

about() ->
    {ok, Version} = application:get_key(amqp10_client, vsn),
    #{library => <<"erlang-amqp10-client">>, version => list_to_binary(Version), protocol => <<"1-0">>}.

command(<<"connect">>, #{<<"host">> := Host, <<"port">> := Port} = Told, none) ->
    maps:is_key(<<"heartbeat">>, Told) andalso contract:unsupported("heartbeat"),
    Names = #{
        <<"container">> => container_id, <<"hostname">> => hostname, <<"idle">> => idle_time_out,
        <<"frame_max">> => max_frame_size, <<"channel_max">> => channel_max},
    Given = maps:from_list([{Key, maps:get(Name, Told)} || {Name, Key} <- maps:to_list(Names), is_map_key(Name, Told)]),
    Address = case inet:parse_address(binary_to_list(Host)) of {ok, Numbers} -> Numbers; _ -> binary_to_list(Host) end,
    Config = Given#{address => Address, port => Port, sasl => sasl(Told)},
    Listener = contract:listen(?MODULE, make_ref()),
    contract:expect({opened, Listener}),
    Connection = opened(contract:inside(Listener, fun() -> monitored(amqp10_client:open_connection(Config)) end)),
    case contract:await({opened, Listener}, none) of
        ok ->
            Name = contract:keep(Connection, Connection),
            Listener ! {name, Name},
            #{on => Name};
        Why -> exit(Why)
    end;
command(<<"open">>, _, On) ->
    contract:expect({begun, On}),
    Connection = contract:find(On),
    Name = contract:inside(On, fun() ->
        Session = opened(monitored(amqp10_client:begin_session(Connection))),
        called(Session, contract:keep_on(On, Session, Session, <<>>))
    end),
    contract:await({begun, On}, Name),
    #{on => Name};
command(<<"attach">>, #{<<"role">> := Role, <<"address">> := Address} = Told, On) ->
    Session = contract:find(On),
    Terminus = #{address => Address, durable => none},
    Name = maps:get(<<"name">>, Told, integer_to_binary(erlang:unique_integer([positive]))),
    Args = #{
        name => Name, filter => #{}, properties => #{},
        snd_settle_mode => binary_to_existing_atom(maps:get(<<"snd">>, Told, <<"mixed">>)),
        rcv_settle_mode => binary_to_existing_atom(maps:get(<<"rcv">>, Told, <<"first">>))},
    contract:expect({attached, On}),
    Link = contract:inside(connection(On), fun() ->
        Way = case Role of <<"sender">> -> {sender, Terminus}; <<"receiver">> -> {receiver, Terminus, self()} end,
        {ok, Ref} = amqp10_client:attach_link(Session, Args#{role => Way}),
        called(Ref, contract:keep_on(On, {Ref, Session}, none, binary:part(Role, 0, 1)))
    end),
    contract:await({attached, On}, Link),
    persistent_term:put({settled, Link}, maps:get(<<"snd">>, Told, <<"mixed">>) =:= <<"settled">>),
    Credit = maps:get(<<"credit">>, Told, 0),
    Credit =:= 0 orelse flow(Link, Credit, false),
    #{on => Link};
command(<<"send">>, Told, On) ->
    sending:send(Told, On);
command(<<"credit">>, #{<<"credit">> := Credit}, On) ->
    flow(On, Credit, false);
command(<<"drain">>, _, On) ->
    flow(On, 1, true);
command(<<"settle">>, #{<<"token">> := Token, <<"outcome">> := Outcome} = Told, On) ->
    maps:get(<<"multiple">>, Told, false) andalso contract:unsupported("to settle several"),
    {Ref, Session} = contract:find(On),
    Message = contract:kept(Token),
    Id = amqp10_msg:delivery_id(Message),
    ok = case Outcome of
        <<"accept">> -> amqp10_client:accept_msg(Ref, Message);
        <<"reject">> -> amqp10_client_session:disposition(Session, receiver, Id, Id, true, rejected);
        <<"release">> -> amqp10_client_session:disposition(Session, receiver, Id, Id, true, released);
        <<"modify">> -> amqp10_client_session:disposition(Session, receiver, Id, Id, true, modified)
    end,
    #{};
command(<<"echo">>, #{<<"token">> := Token}, On) ->
    sending:echo(contract:kept(Token), On);
command(<<"detach">>, _, _) ->
    contract:unsupported("to detach without closing");
command(<<"close">>, _, On) ->
    Object = contract:find(On),
    Key = {down, case Object of {Ref, _} -> Ref; _ -> Object end},
    contract:expect(Key),
    contract:inside(connection(On), fun() ->
        put({leaving, element(2, Key)}, true),
        ok = case {Object, On =:= connection(On)} of
            {{Link, _}, _} -> amqp10_client:detach_link(Link);
            {_, true} -> amqp10_client:close_connection(Object);
            _ -> amqp10_client:end_session(Object)
        end
    end),
    contract:await(Key, On),
    #{}.

connection(On) -> hd(binary:split(On, <<"/">>)).

sasl(#{<<"mechanism">> := <<"ANONYMOUS">>}) -> anon;
sasl(#{<<"mechanism">> := Other}) when Other =/= <<"PLAIN">> -> contract:unsupported(["the mechanism ", Other]);
sasl(#{<<"user">> := User, <<"password">> := Password}) -> {plain, User, Password}.

flow(On, Credit, Drain) ->
    {Ref, _} = contract:find(On),
    ok = amqp10_client:flow_link_credit(Ref, Credit, never, Drain),
    #{}.

%% Within a listener: have it told when a process ends, and know the name of what the library will speak of.
monitored({ok, Pid}) -> monitor(process, Pid), {ok, Pid};
monitored(Error) -> Error.

called(Object, Name) -> put({name, Object}, Name), Name.

opened({ok, Pid}) -> Pid;
opened({error, Why}) -> exit(Why).

explain(Why) -> heard:explain(Why).

heard(Name, Message) -> heard:message(Name, Message).
