%% Typed values of AMQP 1.0 as amqp10_client has them.
-module(values).
-export([typed/1, encode/1, hex/1]).

-define(INTEGERS, #{
    <<"i8">> => byte, <<"u8">> => ubyte, <<"i16">> => short, <<"u16">> => ushort, <<"i32">> => int, <<"u32">> => uint,
    <<"i64">> => long, <<"u64">> => ulong, <<"time">> => timestamp}).
-define(OTHERS, #{
    symbol => <<"sym">>, utf8 => <<"text">>, boolean => <<"bool">>, binary => <<"bin">>, float => <<"f32">>,
    double => <<"f64">>, described => <<"desc">>}).

%% A typed value of a body.
typed(Value) when is_boolean(Value); Value =:= null -> Value;
typed(Value) when is_binary(Value) -> {utf8, Value};
typed(Value) when is_integer(Value), Value >= 0, Value < 1 bsl 32 -> {uint, Value};
typed(Value) when is_integer(Value) -> {long, Value};
typed(Value) when is_float(Value) -> {double, Value};
typed(#{<<"f32">> := Hex}) -> {float, contract:real(32, Hex)};
typed(#{<<"f64">> := Hex}) -> {double, contract:real(64, Hex)};
typed(#{<<"bin">> := Hex}) -> {binary, binary:decode_hex(Hex)};
typed(#{<<"sym">> := Text}) -> {symbol, Text};
typed(#{<<"char">> := Text}) -> {char, unicode:characters_to_binary(Text, utf8, utf32)};
typed(#{<<"uuid">> := Text}) -> {uuid, binary:decode_hex(binary:replace(Text, <<"-">>, <<>>, [global]))};
typed(#{<<"list">> := Values}) -> {list, [typed(Value) || Value <- Values]};
typed(#{<<"map">> := Pairs}) -> {map, [{typed(Key), typed(Value)} || [Key, Value] <- Pairs]};
typed(#{<<"desc">> := [Descriptor, Value]}) -> {described, typed(Descriptor), typed(Value)};
typed(#{<<"array">> := [Kind, Values]}) ->
    Type = case ?INTEGERS of
        #{Kind := Each} -> Each;
        _ when Kind =:= <<"sym">> -> symbol;
        _ when Kind =:= <<"text">> -> utf8;
        _ -> contract:unsupported(["an array of ", Kind])
    end,
    {array, Type, [typed(case Kind of <<"text">> -> Value; _ -> #{Kind => Value} end) || Value <- Values]};
typed(#{} = Other) ->
    [{Kind, Value}] = maps:to_list(Other),
    case ?INTEGERS of
        #{Kind := Type} -> {Type, binary_to_integer(Value)};
        _ -> contract:unsupported(["a value of type ", Kind])
    end.

%% Tell a value, typed or not.
encode(Value) when is_boolean(Value); Value =:= null -> Value;
encode(undefined) -> null;
encode({boolean, Value}) -> Value;
encode(Value) when is_integer(Value) -> #{int => integer_to_binary(Value)};
encode(Value) when is_float(Value) -> Value;
encode({utf8, Value}) -> Value;
encode({symbol, Value}) -> #{sym => Value};
encode({float, Value}) -> #{f32 => contract:bits(32, Value)};
encode({double, Value}) -> #{f64 => contract:bits(64, Value)};
encode({binary, Value}) -> #{bin => hex(Value)};
encode({char, <<Value:32>>}) -> #{char => <<Value/utf8>>};
encode({char, Value}) -> #{char => <<Value/utf8>>};
encode({uuid, <<A:4/binary, B:2/binary, C:2/binary, D:2/binary, E:6/binary>>}) ->
    #{uuid => iolist_to_binary(lists:join($-, [hex(Each) || Each <- [A, B, C, D, E]]))};
encode({list, Values}) -> #{list => [encode(Value) || Value <- Values]};
encode({map, Pairs}) -> #{map => [[encode(Key), encode(Value)] || {Key, Value} <- Pairs]};
encode({described, Descriptor, Value}) -> #{desc => [encode(Descriptor), encode(Value)]};
encode({array, Type, Values}) -> #{array => [kind(Type), [inner(Value) || Value <- Values]]};
encode({Type, Value}) -> #{kind(Type) => integer_to_binary(Value)};
encode(Value) when is_list(Value) -> encode({list, Value});
encode(Value) -> case contract:text(Value) of true -> Value; false -> #{bin => hex(Value)} end.

kind(Type) ->
    case [Kind || {Kind, Each} <- maps:to_list(?INTEGERS), Each =:= Type] of
        [Kind] -> Kind;
        [] -> maps:get(Type, ?OTHERS, atom_to_binary(Type))
    end.

inner({utf8, Value}) -> Value;
inner(Value) -> case encode(Value) of #{} = Told -> hd(maps:values(Told)); Told -> Told end.

hex(Octets) -> string:lowercase(binary:encode_hex(Octets)).
