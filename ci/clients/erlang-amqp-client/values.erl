%% Methods, properties and typed values of 0-9-1 as amqp_client has them.
-module(values).
-export([field/1, method/2, reply/1, properties/1, told/1]).

-include_lib("amqp_client/include/amqp_client.hrl").

-define(FRAMING, rabbit_framing_amqp_0_9_1).
-define(TYPES, [
    {<<"i8">>, byte},
    {<<"u8">>, unsignedbyte},
    {<<"i16">>, short},
    {<<"u16">>, unsignedshort},
    {<<"i32">>, signedint},
    {<<"u32">>, unsignedint},
    {<<"i64">>, long},
    {<<"time">>, timestamp}
]).

%% A name of the document as Erlang has it; gives none where there is no such atom.
field(<<"no-wait">>) -> nowait;
field(<<"reserved-1">>) -> ticket;
field(Name) ->
    try
        binary_to_existing_atom(binary:replace(Name, <<"-">>, <<"_">>, [global]))
    catch
        error:badarg -> none
    end.

dashed(Field) -> binary:replace(atom_to_binary(Field), <<"_">>, <<"-">>, [global]).

%% The record of a method, with those arguments set that are given.
method(Name, Args) ->
    Fields = ?FRAMING:method_fieldnames(Name),
    maps:fold(
        fun
            (<<"no-wait">>, true, _) ->
                %% amqp_channel waits for the answer all the same, for ever.
                contract:unsupported("no-wait");
            (<<"no-wait">>, false, Record) ->
                Record;
            (Argument, Value, Record) ->
                case [At || {At, Field} <- lists:enumerate(2, Fields), Field =:= field(Argument)] of
                    [At] -> setelement(At, Record, plain(Value));
                    [] -> contract:unsupported(["the argument ", Argument])
                end
        end,
        ?FRAMING:method_record(Name),
        Args
    ).

plain(#{} = Value) -> element(2, typed(Value));
plain(Value) -> Value.

%% The fields of an answer.
reply(ok) -> #{};
reply(Record) ->
    [Name | Values] = tuple_to_list(Record),
    maps:from_list(lists:zip([dashed(Field) || Field <- ?FRAMING:method_fieldnames(Name)], Values)).

properties(Given) ->
    maps:fold(
        fun
            (<<"timestamp">>, #{<<"time">> := Seconds}, Made) -> Made#'P_basic'{timestamp = binary_to_integer(Seconds)};
            (Name, Value, Made) ->
                case [At || {At, Field} <- lists:enumerate(2, record_info(fields, 'P_basic')), Field =:= field(Name)] of
                    [At] -> setelement(At, Made, plain(Value));
                    [] -> contract:unsupported(["the property ", Name])
                end
        end,
        #'P_basic'{},
        Given
    ).

told(Properties) ->
    Pairs = lists:zip(record_info(fields, 'P_basic'), tl(tuple_to_list(Properties))),
    maps:from_list([{dashed(Field), property(Field, Value)} || {Field, Value} <- Pairs, Value =/= undefined]).

property(headers, Table) -> encode(table, Table);
property(timestamp, Seconds) -> encode(timestamp, Seconds);
property(_, Value) -> Value.

%% The type and value of one of the contract. A plain integer is a long, as rabbit_misc makes tables.
typed(null) -> {void, undefined};
typed(Value) when is_boolean(Value) -> {bool, Value};
typed(Value) when is_binary(Value) -> {longstr, Value};
typed(Value) when is_integer(Value) -> {long, Value};
typed(Value) when is_float(Value) -> {double, Value};
typed(#{<<"f32">> := Hex}) -> {float, contract:real(32, Hex)};
typed(#{<<"f64">> := Hex}) -> {double, contract:real(64, Hex)};
typed(#{<<"dec">> := [Scale, Unscaled]}) -> {decimal, {Scale, binary_to_integer(Unscaled)}};
typed(#{<<"bin">> := Hex}) -> {binary, binary:decode_hex(Hex)};
typed(#{<<"list">> := Values}) -> {array, [typed(Value) || Value <- Values]};
typed(#{<<"map">> := Pairs}) -> {table, [pair(Name, typed(Value)) || [Name, Value] <- Pairs]};
typed(#{} = Other) ->
    [{Kind, Value}] = maps:to_list(Other),
    case lists:keyfind(Kind, 1, ?TYPES) of
        {_, Type} -> {Type, binary_to_integer(Value)};
        false -> contract:unsupported(["a value of type ", Kind])
    end.

pair(Name, {Type, Value}) -> {Name, Type, Value}.

%% Tell a value.
encode(void, _) -> null;
encode(bool, Value) -> Value;
encode(float, Value) -> #{f32 => contract:bits(32, Value)};
encode(double, Value) -> #{f64 => contract:bits(64, Value)};
encode(decimal, {Scale, Unscaled}) -> #{dec => [Scale, integer_to_binary(Unscaled)]};
encode(table, Table) -> #{map => [[Name, encode(Type, Value)] || {Name, Type, Value} <- Table]};
encode(array, Values) -> #{list => [encode(Type, Value) || {Type, Value} <- Values]};
encode(Type, Value) when Type =:= longstr; Type =:= binary ->
    case Type =:= longstr andalso contract:text(Value) of
        true -> Value;
        false -> #{bin => string:lowercase(binary:encode_hex(Value))}
    end;
encode(Type, Value) ->
    {Kind, _} = lists:keyfind(Type, 2, ?TYPES),
    #{Kind => integer_to_binary(Value)}.
