%% Typed values and messages of AMQP 1.0 as amqp10_client has them.
-module(values).
-export([message/3, told/1]).

-include_lib("amqp10_common/include/amqp10_framing.hrl").

-define(INTEGERS, #{
    <<"i8">> => byte, <<"u8">> => ubyte, <<"i16">> => short, <<"u16">> => ushort, <<"i32">> => int, <<"u32">> => uint,
    <<"i64">> => long, <<"u64">> => ulong, <<"time">> => timestamp}).
-define(OTHERS, #{
    symbol => <<"sym">>, utf8 => <<"text">>, boolean => <<"bool">>, binary => <<"bin">>, float => <<"f32">>,
    double => <<"f64">>, described => <<"desc">>}).
-define(TIMES, [absolute_expiry_time, creation_time]).

%% Make a message of what `send` says. Setters are called only for what is given.
message(Tag, Settled, #{<<"body">> := Body} = Told) ->
    Content = case Body of
        #{<<"value">> := Value} -> #'v1_0.amqp_value'{content = typed(Value)};
        #{<<"sequence">> := Values} -> [#'v1_0.amqp_sequence'{content = [typed(Value) || Value <- Values]}];
        _ -> contract:octets(Body)
    end,
    Setters = [
        {<<"header">>, fun amqp10_msg:set_headers/2, fun fields/1},
        {<<"properties">>, fun amqp10_msg:set_properties/2, fun fields/1},
        {<<"application">>, fun amqp10_msg:set_application_properties/2, fun named/1},
        {<<"annotations">>, fun amqp10_msg:set_message_annotations/2, fun named/1}],
    lists:foldl(
        fun({Part, Set, Make}, Message) ->
            case Told of
                #{Part := Given} -> Set(Make(Given), Message);
                _ -> Message
            end
        end,
        amqp10_msg:new(Tag, Content, Settled),
        Setters).

fields(Given) -> maps:fold(fun(Name, Value, Made) -> Made#{field(Name) => untyped(Name, Value)} end, #{}, Given).

field(Name) -> binary_to_existing_atom(binary:replace(Name, <<"-">>, <<"_">>, [global])).

%% Properties are given their type by the library.
untyped(_, #{<<"time">> := Text}) -> binary_to_integer(Text);
untyped(<<"user-id">>, #{<<"bin">> := Hex}) -> binary:decode_hex(Hex);
untyped(_, #{<<"sym">> := Text}) -> Text;
untyped(Name, #{} = Value) -> contract:unsupported(["the property ", Name, " as ", hd(maps:keys(Value))]);
untyped(<<"message-id">>, Value) when not is_binary(Value) -> contract:unsupported("a message-id that is no text");
untyped(_, Value) -> Value.

%% So are application properties and annotations: of an integer it makes a uint.
named(#{<<"map">> := Pairs}) -> maps:from_list([{key(Key), simple(Value)} || [Key, Value] <- Pairs]).

key(#{<<"sym">> := Key}) -> Key;
key(Key) when is_binary(Key) -> Key;
key(_) -> contract:unsupported("a key other than text").

simple(#{<<"u32">> := Text}) -> binary_to_integer(Text);
simple(null) -> contract:unsupported("null, of which it makes a text");
simple(#{} = Value) -> contract:unsupported(["a property of type ", hd(maps:keys(Value))]);
simple(Value) when is_float(Value) -> contract:unsupported("a float as a property");
simple(Value) -> Value.

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

%% Tell a message, as far as the library tells it: values of maps come without their types.
told(Message) ->
    Header = maps:fold(fun(Key, Value, Made) -> Made#{dashed(Key) => Value} end, #{}, amqp10_msg:headers(Message)),
    Properties = maps:fold(fun property/3, #{}, amqp10_msg:properties(Message)),
    Told = #{
        header => Header,
        properties => Properties,
        application => encode({map, maps:to_list(amqp10_msg:application_properties(Message))}),
        annotations => encode({map, maps:to_list(amqp10_msg:message_annotations(Message))})},
    Filled = maps:filter(fun(_, Part) -> Part =/= #{} andalso Part =/= #{map => []} end, Told),
    case amqp10_msg:body(Message) of
        #'v1_0.amqp_value'{content = Value} -> Filled#{value => encode(Value)};
        [#'v1_0.amqp_sequence'{} | _] = Sections ->
            Filled#{sequence => [encode(Each) || #'v1_0.amqp_sequence'{content = Values} <- Sections, Each <- Values]};
        Data -> maps:merge(Filled, contract:measured(iolist_to_binary(Data)))
    end.

dashed(Key) -> binary:replace(atom_to_binary(Key), <<"_">>, <<"-">>, [global]).

property(Key, Value, Made) when is_integer(Value) ->
    Text = integer_to_binary(Value),
    Made#{dashed(Key) => case {lists:member(Key, ?TIMES), Key} of
        {true, _} -> #{time => Text};
        {_, group_sequence} -> Value;
        _ -> #{int => Text}
    end};
property(user_id, Value, Made) -> Made#{<<"user-id">> => #{bin => hex(Value)}};
property(Key, Value, Made) -> Made#{dashed(Key) => encode(Value)}.

hex(Octets) -> string:lowercase(binary:encode_hex(Octets)).

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
