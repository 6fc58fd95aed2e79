%% What the shims of Erlang share: lines, answers, names of what is open, events, tokens and bodies.
%%
%% A shim is a module with about/0 (of hello), command/3 (what to do, its arguments, what it is on; gives what is told back),
%% explain/1 (makes {refused, Kind, Text, More} of what is thrown) and heard/2 (of what processes of the library send to the
%% listener of a connection or channel). A command runs in a process of its own, which is given up when its time is over.
-module(contract).
-export([serve/1, keep/2, keep_on/4, find/1, 'end'/2, fall/2, doom/1, tell/2, token/1, kept/1, listen/2, inside/2]).
-export([expect/1, await/2, met/2, refuse/2, unsupported/1, octets/1, measured/1, text/1, real/2, bits/2]).

-define(CONTRACT, 1).
%% Octets of the longest body that is also told as a text.
-define(TEXT, 1024).
%% Milliseconds that what was told already may still take once stdin has ended.
-define(PARTING, 500).

serve(Library) ->
    ets:new(?MODULE, [named_table, public]),
    register(main, self()),
    io:setopts(standard_io, [binary, {encoding, latin1}]),
    Main = self(),
    spawn(fun() -> read(Main) end),
    loop(Library).

read(Main) ->
    case io:get_line(standard_io, "") of
        Line when is_binary(Line) ->
            Main ! {line, Line},
            read(Main);
        _ ->
            Main ! over,
            timer:sleep(?PARTING),
            halt(0, [{flush, false}])
    end.

loop(Library) ->
    receive
        {line, Line} ->
            Told = jsx:decode(Line, [return_maps]),
            Before = sockets(),
            Answer =
                try
                    #{ok => run(Library, Told)}
                catch
                    throw:{refused, Kind, Text, More} ->
                        %% What the library gives up by itself it ends by itself.
                        maps:get(<<"do">>, Told) =:= <<"connect">> andalso Kind =:= timeout andalso drop(sockets() -- Before),
                        #{error => maps:merge(#{native => Kind}, More#{kind => Kind, text => Text})};
                    _:Error ->
                        #{error => #{kind => internal, native => internal, text => written(Error)}}
                end,
            Id = maps:get(<<"id">>, Told, null),
            file:write(standard_io, [jsx:encode(Answer#{id => Id}, [uescape]), $\n]),
            loop(Library);
        over ->
            halt(0, [{flush, false}]);
        _ ->
            loop(Library)
    end.

run(Library, #{<<"do">> := <<"hello">>}) ->
    (Library:about())#{contract => ?CONTRACT, language => <<"Erlang">>};
run(_, #{<<"do">> := <<"reset">>}) ->
    drop(sockets()),
    [exit(Pid, kill) || [Pid] <- ets:match(?MODULE, {{listener, '_'}, '$1'})],
    [exit(Pid, kill) || [Pid] <- ets:match(?MODULE, {{process, '_'}, '$1'}), is_pid(Pid)],
    [ets:match_delete(?MODULE, {{Kind, '_'}, '_'}) || Kind <- [listener, process, object, fate, token, event, waits]],
    #{};
run(_, #{<<"do">> := <<"wait">>, <<"on">> := On, <<"for">> := For} = Told) ->
    find(On),
    Until = erlang:monotonic_time(millisecond) + round(For * 1000),
    #{events => wait(connection(On), Until, maps:get(<<"count">>, Told, infinity))};
run(Library, #{<<"do">> := Do} = Told) ->
    On = maps:get(<<"on">>, Told, none),
    On =:= none orelse find(On),
    %% What is over already is told even where the library acts as if it were not.
    Doom = doom(On),
    {Worker, Monitor} = spawn_monitor(fun() -> exit({done, work(Library, Do, Told, On)}) end),
    receive
        {'DOWN', Monitor, _, _, {done, {ok, _}}} when Doom =/= none -> throw(Doom);
        {'DOWN', Monitor, _, _, {done, {ok, Reply}}} -> Reply;
        {'DOWN', Monitor, _, _, {done, Refused}} -> throw(Refused);
        {'DOWN', Monitor, _, _, Why} -> throw({refused, internal, written(Why), #{}})
    after round(maps:get(<<"within">>, Told, 60) * 1000) ->
        exit(Worker, kill),
        demonitor(Monitor, [flush]),
        throw({refused, timeout, <<"no answer to ", Do/binary, " within the time given">>, #{}})
    end.

work(Library, Do, Told, On) ->
    try
        Reply = Library:command(Do, Told, On),
        lists:member(Do, [<<"close">>, <<"detach">>]) andalso
            'end'(On, {refused, local, <<On/binary, " has been closed">>, #{}}),
        {ok, Reply}
    catch
        throw:{refused, _, _, _} = Refused ->
            Refused;
        error:Why:Stack -> failed(Library, Do, On, Why, Stack);
        exit:Why -> failed(Library, Do, On, Why, [])
    end.

failed(Library, Do, _, function_clause, [{Library, command, _, _} | _]) ->
    {refused, unknown, <<"there is no command ", Do/binary>>, #{}};
failed(Library, _, On, Why, _) ->
    %% The listener may know better why, once it has heard what came before.
    [inside(Name, fun() -> ok end) || On =/= none, Name <- [connection(On), On]],
    case doom(On) of
        none -> native(Library:explain(Why), Why);
        Doom -> Doom
    end.

native({refused, Kind, Text, More}, Why) -> {refused, Kind, Text, More#{native => written(Why)}}.

written(Term) -> unicode:characters_to_binary(io_lib:format("~0P", [Term, 30])).

%% All sockets of this machine: their ports are dropped whatever the library makes of it.
sockets() -> [Port || Port <- erlang:ports(), erlang:port_info(Port, name) =:= {name, "tcp_inet"}].

drop(Sockets) -> [catch erlang:port_close(Socket) || Socket <- Sockets].

count(What) -> ets:update_counter(?MODULE, {count, What}, 1, {none, 0}).

%% Keep a connection under the next name, and its process, which `reset` kills.
keep(Object, Process) ->
    Name = <<"c", (integer_to_binary(count(connections) - 1))/binary>>,
    ets:insert(?MODULE, [{{object, Name}, Object}, {{process, Name}, Process}]),
    Name.

%% Keep what was opened on something under its name; it may have no process of its own.
keep_on(Parent, Object, Process, Mark) ->
    Name = <<Parent/binary, $/, Mark/binary, (integer_to_binary(count({opened, Parent})))/binary>>,
    ets:insert(?MODULE, [{{object, Name}, Object}, {{process, Name}, Process}]),
    Name.

find(Name) ->
    case ets:lookup(?MODULE, {object, Name}) of
        [{_, Object}] -> Object;
        [] -> refuse(local, <<"nothing is called ", Name/binary>>)
    end.

connection(Name) -> hd(binary:split(Name, <<"/">>)).

%% It is over, for a reason that all later commands are told. The first reason stays.
'end'(Name, Fate) ->
    ets:insert_new(?MODULE, {{fate, Name}, Fate}),
    main ! changed,
    [Pid ! ended || [Pid] <- ets:match(?MODULE, {{waits, '_'}, '$1'})].

%% It is over by what the other side did, or the library by itself, which is an event.
fall(Name, {refused, Kind, Text, More} = Fate) ->
    %% The event comes first, so that who sees the end sees it, too.
    case {ets:member(?MODULE, {fate, Name}), Kind, binary:match(Name, <<"/">>)} of
        {false, closed, _} -> tell(Name, More#{event => closed, text => Text});
        {false, _, nomatch} -> tell(Name, #{event => lost});
        _ -> ok
    end,
    'end'(Name, Fate).

%% What ended it or what it is on, if anything did.
doom(none) ->
    none;
doom(Name) ->
    case {ets:lookup(?MODULE, {fate, Name}), string:split(Name, "/", trailing)} of
        {[{_, Fate}], _} -> Fate;
        {[], [Parent, _]} -> doom(Parent);
        {[], _} -> none
    end.

%% Queue an event, told by `wait`.
tell(Name, Event) ->
    ets:insert(?MODULE, {{event, {connection(Name), count(events)}}, Event#{on => Name}}),
    main ! changed.

wait(Name, Until, Count) ->
    Keys = lists:sort(ets:select(?MODULE, [{{{event, {Name, '_'}}, '_'}, [], [{element, 1, '$_'}]}])),
    Left = Until - erlang:monotonic_time(millisecond),
    case length(Keys) >= Count orelse Left =< 0 orelse doom(Name) =/= none of
        true ->
            [Event || Key <- Keys, {_, Event} <- ets:take(?MODULE, Key)];
        false ->
            receive
                changed -> ok
            after Left -> ok
            end,
            wait(Name, Until, Count)
    end.

%% Give a name to what arrived.
token(Object) ->
    Token = <<"m", (integer_to_binary(count(tokens)))/binary>>,
    ets:insert(?MODULE, {{token, Token}, Object}),
    Token.

kept(Token) ->
    case ets:lookup(?MODULE, {token, Token}) of
        [{_, Object}] -> Object;
        [] -> refuse(local, <<"no message is called ", Token/binary>>)
    end.

%% The process to which the library sends what is about something: it has the library hear it.
listen(Library, Name) ->
    Pid = spawn(fun() -> listening(Library, Name) end),
    ets:insert(?MODULE, {{listener, Name}, Pid}),
    Pid.

listening(Library, Name) ->
    receive
        {inside, From, Ref, Act} -> From ! {Ref, catch {ok, Act()}};
        {name, New} -> ets:insert(?MODULE, {{listener, New}, self()}), listening(Library, New);
        Message -> catch Library:heard(Name, Message)
    end,
    listening(Library, Name).

%% Have something done by a listener, so that what the library answers comes to it.
inside(Name, Act) when is_binary(Name) ->
    case ets:lookup(?MODULE, {listener, Name}) of
        [{_, Pid}] -> inside(Pid, Act);
        [] -> Act()
    end;
inside(Pid, Act) ->
    Ref = make_ref(),
    Pid ! {inside, self(), Ref, Act},
    receive
        {Ref, {ok, Result}} -> Result;
        {Ref, {'EXIT', Why}} -> exit(Why)
    end.

%% Wait for what a listener hears: `expect` first, then act, then `await`; the listener calls `met`.
expect(Key) -> ets:insert(?MODULE, {{waits, Key}, self()}).

await(Key, On) ->
    doom(On) =:= none orelse throw(doom(On)),
    receive
        {met, Key, Value} -> Value;
        ended -> await(Key, On)
    end.

%% Whether somebody waited for it.
met(Key, Value) ->
    case ets:take(?MODULE, {waits, Key}) of
        [{_, Pid}] -> Pid ! {met, Key, Value}, true;
        [] -> false
    end.

refuse(Kind, Text) -> throw({refused, Kind, Text, #{}}).

unsupported(What) -> refuse(unsupported, iolist_to_binary(What)).

%% Octets of a body: a text, or {"fill": n}.
octets(#{<<"fill">> := Size}) ->
    binary:part(binary:copy(list_to_binary(lists:seq(0, 250)), Size div 251 + 1), 0, Size);
octets(Text) -> Text.

%% What is told of octets: size, crc32 and, where they are a short one, the text.
measured(Octets) ->
    Told = #{size => byte_size(Octets), crc32 => erlang:crc32(Octets)},
    case byte_size(Octets) =< ?TEXT andalso text(Octets) of
        true -> Told#{text => Octets};
        false -> Told
    end.

text(Octets) -> is_list(unicode:characters_to_list(Octets)).

%% A float of so many bits; Erlang has none that is no number.
real(Size, Hex) ->
    case binary:decode_hex(Hex) of
        <<Value:Size/float>> -> Value;
        _ -> unsupported("a float that is no finite number")
    end.

bits(Size, Value) -> string:lowercase(binary:encode_hex(<<Value:Size/float>>)).
