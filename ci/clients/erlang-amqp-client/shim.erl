%% RabbitMQ's amqp_client as a shim.
-module(shim).
-export([main/0, about/0, command/3, explain/1, heard/2]).

-include_lib("amqp_client/include/amqp_client.hrl").

-define(METHODS, [
    'exchange.declare', 'exchange.delete', 'exchange.bind', 'exchange.unbind', 'queue.declare', 'queue.bind', 'queue.unbind',
    'queue.purge', 'queue.delete', 'basic.qos', 'basic.recover', 'basic.recover_async', 'channel.flow', 'tx.select',
    'tx.commit', 'tx.rollback'
]).

main() ->
    {ok, _} = application:ensure_all_started(amqp_client),
    contract:serve(?MODULE).

about() ->
    {ok, Version} = application:get_key(amqp_client, vsn),
    #{library => <<"erlang-amqp-client">>, version => list_to_binary(Version), protocol => <<"0-9-1">>}.

command(<<"connect">>, Told, none) ->
    #{<<"host">> := Host, <<"port">> := Port, <<"user">> := User, <<"password">> := Password, <<"vhost">> := Vhost} = Told,
    Default = #amqp_params_network{},
    Wanted = Default#amqp_params_network{
        host = binary_to_list(Host), port = Port, username = User, password = Password, virtual_host = Vhost,
        heartbeat = maps:get(<<"heartbeat">>, Told, Default#amqp_params_network.heartbeat),
        frame_max = maps:get(<<"frame_max">>, Told, Default#amqp_params_network.frame_max),
        channel_max = maps:get(<<"channel_max">>, Told, Default#amqp_params_network.channel_max),
        auth_mechanisms = mechanisms(Told, Default),
        connection_timeout = round(maps:get(<<"within">>, Told, 60) * 1000)},
    case amqp_connection:start(Wanted) of
        {ok, Pid} -> #{on => heeded(Pid, contract:keep(Pid, Pid))};
        {error, Why} -> throw(explain(Why))
    end;
command(<<"open">>, _, On) ->
    case amqp_connection:open_channel(contract:find(On)) of
        {ok, Pid} ->
            Name = heeded(Pid, contract:keep_on(On, Pid, Pid, <<>>)),
            contract:inside(Name, fun() -> amqp_channel:register_return_handler(Pid, self()) end),
            #{on => Name};
        Why -> exit(Why)
    end;
command(<<"call">>, #{<<"method">> := Method, <<"args">> := Args}, On) ->
    case [Each || Each <- ?METHODS, Each =:= values:field(Method)] of
        [Name] ->
            Record = values:method(Name, Args),
            Reply = done(amqp_channel:call(contract:find(On), Record)),
            due(Name, Reply),
            #{reply => values:reply(Reply)};
        [] -> contract:unsupported(Method)
    end;
command(<<"send">>, #{<<"exchange">> := Exchange, <<"key">> := Key, <<"body">> := Body} = Told, On) ->
    Publish = #'basic.publish'{
        exchange = Exchange, routing_key = Key,
        mandatory = maps:get(<<"mandatory">>, Told, false), immediate = maps:get(<<"immediate">>, Told, false)},
    Message = #amqp_msg{props = values:properties(maps:get(<<"properties">>, Told, #{})), payload = contract:octets(Body)},
    [done(amqp_channel:call(contract:find(On), Publish, Message)) || _ <- lists:seq(1, maps:get(<<"count">>, Told, 1))],
    #{};
command(<<"get">>, #{<<"queue">> := Queue, <<"settled">> := Settled}, On) ->
    case done(amqp_channel:call(contract:find(On), #'basic.get'{queue = Queue, no_ack = Settled})) of
        #'basic.get_empty'{} -> #{message => null};
        {#'basic.get_ok'{delivery_tag = Tag, redelivered = Again, exchange = Exchange, routing_key = Key}, Message} ->
            #{message => (heard:arrived(Tag, Exchange, Key, Message))#{redelivered => Again}}
    end;
command(<<"receive">>, #{<<"queue">> := Queue, <<"settled">> := Settled} = Told, On) ->
    Given = maps:filter(fun(Name, _) -> Name =:= <<"arguments">> end, Told),
    Named = #{<<"queue">> => Queue, <<"no-ack">> => Settled, <<"consumer-tag">> => maps:get(<<"tag">>, Told, <<>>)},
    Consume = values:method('basic.consume', maps:merge(Named, Given)),
    Subscriber = contract:inside(On, fun() -> self() end),
    #'basic.consume_ok'{consumer_tag = Tag} = done(amqp_channel:subscribe(contract:find(On), Consume, Subscriber)),
    #{tag => Tag};
command(<<"stop">>, #{<<"tag">> := Tag}, On) ->
    done(amqp_channel:call(contract:find(On), #'basic.cancel'{consumer_tag = Tag})),
    #{};
command(<<"settle">>, #{<<"token">> := Token, <<"outcome">> := Outcome} = Told, On) ->
    {Tag, _} = contract:kept(Token),
    Multiple = maps:get(<<"multiple">>, Told, false),
    Method =
        case {Outcome, Multiple} of
            {<<"accept">>, _} -> #'basic.ack'{delivery_tag = Tag, multiple = Multiple};
            {<<"reject">>, false} -> #'basic.reject'{delivery_tag = Tag, requeue = false};
            {<<"release">>, false} -> #'basic.reject'{delivery_tag = Tag, requeue = true};
            _ -> contract:unsupported(["to ", Outcome, " so"])
        end,
    done(amqp_channel:call(contract:find(On), Method)),
    #{};
command(<<"echo">>, #{<<"token">> := Token} = Told, On) ->
    {_, Message} = contract:kept(Token),
    Publish = #'basic.publish'{routing_key = maps:get(<<"key">>, Told, <<>>)},
    done(amqp_channel:call(contract:find(On), Publish, Message)),
    #{};
command(<<"close">>, _, On) ->
    Of = case binary:match(On, <<"/">>) of nomatch -> amqp_connection; _ -> amqp_channel end,
    done(Of:close(contract:find(On))),
    #{}.

mechanisms(#{<<"mechanism">> := <<"PLAIN">>}, _) -> [fun amqp_auth_mechanisms:plain/3];
mechanisms(#{<<"mechanism">> := <<"AMQPLAIN">>}, _) -> [fun amqp_auth_mechanisms:amqplain/3];
mechanisms(#{<<"mechanism">> := <<"EXTERNAL">>}, _) -> [fun amqp_auth_mechanisms:external/3];
mechanisms(#{<<"mechanism">> := Other}, _) -> contract:unsupported(["the mechanism ", Other]);
mechanisms(_, #amqp_params_network{auth_mechanisms = Default}) -> Default.

%% Have its listener learn how it ends.
heeded(Pid, Name) ->
    contract:inside(contract:listen(?MODULE, Name), fun() -> monitor(process, Pid) end),
    Name.

%% What amqp_channel and amqp_connection give back where they do not do it.
done(Why) when Why =:= closing; Why =:= blocked -> exit(Why);
done({error, Why}) -> contract:unsupported(atom_to_list(Why));
done(Reply) -> Reply.

%% Take the reply that is due, as an application does by matching its record.
due(_, ok) -> ok;
due(Name, Reply) ->
    case atom_to_list(element(1, Reply)) =:= atom_to_list(Name) ++ "_ok" of
        true -> ok;
        false -> throw({refused, local, <<"another reply">>, #{}})
    end.

explain(Why) -> heard:explain(Why).

heard(Name, Message) -> heard:message(Name, Message).
