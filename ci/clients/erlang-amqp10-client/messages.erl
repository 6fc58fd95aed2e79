%% Messages of AMQP 1.0 as amqp10_client has them.
-module(messages).
-export([message/3, told/1]).

-include_lib("amqp10_common/include/amqp10_framing.hrl").

-define(TIMES, [absolute_expiry_time, creation_time]).

%% Make a message of what `send` says. Setters are called only for what is given.
message(Tag, Settled, #{<<"body">> := Body} = Told) ->
    Content = case Body of
        #{<<"value">> := Value} -> #'v1_0.amqp_value'{content = values:typed(Value)};
        #{<<"sequence">> := Values} -> [#'v1_0.amqp_sequence'{content = [values:typed(Value) || Value <- Values]}];
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

%% Tell a message, as far as the library tells it: values of maps come without their types.
told(Message) ->
    Header = maps:fold(fun(Key, Value, Made) -> Made#{dashed(Key) => Value} end, #{}, amqp10_msg:headers(Message)),
    Properties = maps:fold(fun property/3, #{}, amqp10_msg:properties(Message)),
    Told = #{
        header => Header,
        properties => Properties,
        application => values:encode({map, maps:to_list(amqp10_msg:application_properties(Message))}),
        annotations => values:encode({map, maps:to_list(amqp10_msg:message_annotations(Message))})},
    Filled = maps:filter(fun(_, Part) -> Part =/= #{} andalso Part =/= #{map => []} end, Told),
    case amqp10_msg:body(Message) of
        #'v1_0.amqp_value'{content = Value} -> Filled#{value => values:encode(Value)};
        [#'v1_0.amqp_sequence'{} | _] = Sections ->
            Filled#{sequence => [values:encode(Each) || #'v1_0.amqp_sequence'{content = Values} <- Sections, Each <- Values]};
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
property(user_id, Value, Made) -> Made#{<<"user-id">> => #{bin => values:hex(Value)}};
property(Key, Value, Made) -> Made#{dashed(Key) => values:encode(Value)}.
