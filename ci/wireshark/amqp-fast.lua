-- AMQP/Fast (AMQ RFC 006, 2005) for Wireshark: tshark -X lua_script:amqp-fast.lua -r capture.pcapng
-- Written from the grammar by `python -m harness.amqp_fast.dissector`; do not edit.
local GRAMMAR = {
  protocol_id = 128,
  frame_end = 206,
  commands = {
    [10] = { name = "CONNECTION CHALLENGE", fragment = false,
      fields = { { "version", "octet" }, { "mechanisms", "shortstr" }, { "challenges", "table" } } },
    [11] = { name = "CONNECTION RESPONSE", fragment = false,
      fields = { { "mechanism", "shortstr" }, { "responses", "table" } } },
    [12] = { name = "CONNECTION TUNE", fragment = false,
      fields = { { "options", "table" }, { "dictionary", "table" } } },
    [13] = { name = "CONNECTION OPEN", fragment = false,
      fields = { { "confirm-tag", "short" }, { "virtual-path", "shortstr" }, { "client-name", "shortstr" }, { "options", "table" } } },
    [14] = { name = "CONNECTION PING", fragment = false,
      fields = { { "respond", "bit" } } },
    [18] = { name = "CONNECTION REPLY", fragment = false,
      fields = { { "confirm-tag", "short" }, { "reply-code", "short" }, { "reply-text", "shortstr" } } },
    [19] = { name = "CONNECTION CLOSE", fragment = false,
      fields = { { "reply-code", "short" }, { "reply-text", "shortstr" } } },
    [20] = { name = "CHANNEL OPEN", fragment = false,
      fields = { { "channel-id", "short" }, { "confirm-tag", "short" }, { "transacted", "bit" }, { "restartable", "bit" }, { "options", "table" }, { "out-of-band", "shortstr" } } },
    [21] = { name = "CHANNEL ACK", fragment = false,
      fields = { { "channel-id", "short" }, { "confirm-tag", "short" }, { "message-nbr", "long" } } },
    [22] = { name = "CHANNEL COMMIT", fragment = false,
      fields = { { "channel-id", "short" }, { "confirm-tag", "short" }, { "options", "table" } } },
    [23] = { name = "CHANNEL ROLLBACK", fragment = false,
      fields = { { "channel-id", "short" }, { "confirm-tag", "short" }, { "options", "table" } } },
    [28] = { name = "CHANNEL REPLY", fragment = false,
      fields = { { "channel-id", "short" }, { "confirm-tag", "short" }, { "reply-code", "short" }, { "reply-text", "shortstr" } } },
    [29] = { name = "CHANNEL CLOSE", fragment = false,
      fields = { { "channel-id", "short" }, { "reply-code", "short" }, { "reply-text", "shortstr" } } },
    [30] = { name = "HANDLE OPEN", fragment = false,
      fields = { { "channel-id", "short" }, { "handle-id", "short" }, { "confirm-tag", "short" }, { "producer", "bit" }, { "consumer", "bit" }, { "browser", "bit" }, { "mime-type", "shortstr" }, { "encoding", "shortstr" }, { "options", "table" } } },
    [31] = { name = "HANDLE SEND", fragment = true,
      fields = { { "handle-id", "short" }, { "confirm-tag", "short" }, { "service-type", "short" }, { "fragment-size", "long" }, { "partial", "bit" }, { "out-of-band", "bit" }, { "recovery", "bit" }, { "dest-name", "shortstr" } } },
    [32] = { name = "HANDLE CONSUME", fragment = false,
      fields = { { "handle-id", "short" }, { "confirm-tag", "short" }, { "service-type", "short" }, { "prefetch", "short" }, { "no-local", "bit" }, { "no-ack", "bit" }, { "dynamic", "bit" }, { "exclusive", "bit" }, { "dest-name", "shortstr" }, { "selector", "table" } } },
    [34] = { name = "HANDLE FLOW", fragment = false,
      fields = { { "handle-id", "short" }, { "confirm-tag", "short" }, { "flow-pause", "bit" } } },
    [35] = { name = "HANDLE UNGET", fragment = false,
      fields = { { "handle-id", "short" }, { "confirm-tag", "short" }, { "message-nbr", "long" } } },
    [36] = { name = "HANDLE QUERY", fragment = false,
      fields = { { "handle-id", "short" }, { "message-nbr", "long" }, { "dest-name", "shortstr" }, { "selector", "longstr" }, { "mime-type", "shortstr" } } },
    [37] = { name = "HANDLE BROWSE", fragment = false,
      fields = { { "handle-id", "short" }, { "confirm-tag", "short" }, { "message-nbr", "long" } } },
    [40] = { name = "HANDLE CREATED", fragment = false,
      fields = { { "handle-id", "short" }, { "dest-name", "shortstr" } } },
    [41] = { name = "HANDLE NOTIFY", fragment = true,
      fields = { { "handle-id", "short" }, { "message-nbr", "long" }, { "fragment-size", "long" }, { "partial", "bit" }, { "out-of-band", "bit" }, { "recovery", "bit" }, { "delivered", "bit" }, { "redelivered", "bit" }, { "dest-name", "shortstr" } } },
    [42] = { name = "HANDLE INDEX", fragment = false,
      fields = { { "handle-id", "short" }, { "message-nbr", "long" }, { "message-list", "longstr" } } },
    [43] = { name = "HANDLE PREPARE", fragment = true,
      fields = { { "handle-id", "short" }, { "fragment-size", "long" }, { "content-hash", "shortstr" } } },
    [44] = { name = "HANDLE READY", fragment = false,
      fields = { { "handle-id", "short" }, { "message-size", "long" } } },
    [48] = { name = "HANDLE REPLY", fragment = false,
      fields = { { "handle-id", "short" }, { "confirm-tag", "short" }, { "reply-code", "short" }, { "reply-text", "shortstr" } } },
    [49] = { name = "HANDLE CLOSE", fragment = false,
      fields = { { "handle-id", "short" }, { "reply-code", "short" }, { "reply-text", "shortstr" } } },
  },
  message = { { "body-size", "long" }, { "persistent", "bit" }, { "priority", "octet" }, { "expiration", "long" }, { "mime-type", "shortstr" }, { "encoding", "shortstr" }, { "identifier", "shortstr" }, { "headers", "table" } },
  choices = {
    ["service-type"] = { [1] = "queue", [2] = "topic", [3] = "any" },
    ["reply-code"] = { [200] = "ok", [310] = "message-not-found", [311] = "message-too-large", [540] = "not-implemented", [542] = "invalid-message-contents" },
  },
  ambiguous = { ["out-of-band"] = true, ["selector"] = true },
  names = {},
}
for code, command in pairs(GRAMMAR.commands) do GRAMMAR.names[code] = command.name end

local END = GRAMMAR.frame_end
local TABLE_TYPES = { S = "string", I = "integer", D = "decimal", T = "time" }

local fast = Proto("amqpfast", "AMQP/Fast (AMQ RFC 006)")
local tcp_stream = Field.new("tcp.stream")
local f = {
  protocol_id = ProtoField.uint8("amqpfast.protocol_id", "protocol-id"),
  protocol_version = ProtoField.uint8("amqpfast.protocol_version", "protocol-version"),
  size = ProtoField.uint32("amqpfast.size", "size"),
  command = ProtoField.uint8("amqpfast.command", "command", base.DEC, GRAMMAR.names),
  frame_end = ProtoField.uint8("amqpfast.command_end", "command-end", base.HEX),
  fragment = ProtoField.bytes("amqpfast.fragment", "fragment"),
  name = ProtoField.string("amqpfast.table.name", "name"),
  string = ProtoField.string("amqpfast.table.string", "string"),
  integer = ProtoField.int32("amqpfast.table.integer", "integer"),
  decimal = ProtoField.string("amqpfast.table.decimal", "decimal"),
  time = ProtoField.absolute_time("amqpfast.table.time", "time", base.UTC),
}
local MAKE = {
  bit = function(id, name) return ProtoField.bool(id, name) end,
  octet = function(id, name, values) return ProtoField.uint8(id, name, base.DEC, values) end,
  short = function(id, name, values) return ProtoField.uint16(id, name, base.DEC, values) end,
  long = function(id, name, values) return ProtoField.uint32(id, name, base.DEC, values) end,
  shortstr = function(id, name) return ProtoField.string(id, name) end,
  longstr = function(id, name) return ProtoField.bytes(id, name) end,
  table = function(id, name) return ProtoField.bytes(id, name) end,
}
-- A field of several commands has one name for all of them, so that a filter finds it everywhere; where it is of another
-- type in one of them, its type stands behind its name.
local function declare(prefix, fields)
  for _, field in ipairs(fields) do
    local name, kind = field[1], field[2]
    local id = prefix .. name:gsub("-", "_") .. (GRAMMAR.ambiguous[name] and "_" .. kind or "")
    f[id] = f[id] or MAKE[kind](id, name, GRAMMAR.choices[name])
    field.made = f[id]
  end
end
for _, command in pairs(GRAMMAR.commands) do
  declare("amqpfast.", command.fields)
end
declare("amqpfast.message.", GRAMMAR.message)
fast.fields = f
local malformed = ProtoExpert.new("amqpfast.malformed", "malformed", expert.group.MALFORMED, expert.severity.ERROR)
fast.experts = { malformed }

-- Which streams are AMQP/Fast, which handles have a message under way, which fragments begin one. Learned in the first pass.
local speaks, unfinished, begins = {}, {}, {}
function fast.init()
  speaks, unfinished, begins = {}, {}, {}
end

local NUMBERS = { octet = 1, short = 2, long = 4 }
local LENGTHS = { shortstr = 1, longstr = 2, table = 2 }

-- Find where a field at an offset ends; nil where it goes beyond `stop`.
local function behind(tvb, kind, at, stop)
  local length = NUMBERS[kind]
  if not length then
    local prefix = LENGTHS[kind]
    if at + prefix > stop then return nil end
    length = prefix + tvb(at, prefix):uint()
  end
  return at + length <= stop and at + length or nil
end

local function add_value(tvb, tree, at, stop)
  local kind = TABLE_TYPES[tvb(at, 1):string()]
  local start = at + 1
  if kind == "string" then
    local after = behind(tvb, "longstr", start, stop)
    if after then tree:add(f.string, tvb(start + 2, after - start - 2)) end
    return after
  end
  local after = kind and start + (kind == "decimal" and 5 or 4)
  if not after or after > stop then return nil end
  if kind == "decimal" then
    local number, places = tvb(start + 1, 4):int(), tvb(start, 1):uint()
    tree:add(f.decimal, tvb(start, 5), string.format("%d / 10^%d", number, places))
  else
    tree:add(f[kind], tvb(start, 4))
  end
  return after
end

local function add_table(tvb, tree, at, stop)
  while at < stop do
    local after = behind(tvb, "shortstr", at, stop)
    if not after or after >= stop then return false end
    tree:add(f.name, tvb(at + 1, after - at - 1))
    at = add_value(tvb, tree, after, stop)
    if not at then return false end
  end
  return true
end

-- Show fields one by one; give the values of numbers and bits, and the offset behind, nil where a field is cut short.
local function add_fields(tvb, tree, fields, at, stop)
  local values, place = {}, 0
  for _, field in ipairs(fields) do
    local kind = field[2]
    if kind == "bit" then
      -- Bits that follow one another share an octet, the first in its lowest bit.
      if place == 0 then at = at + 1 end
      if at > stop then return values, nil end
      values[field[1]] = bit.band(tvb(at - 1, 1):uint(), bit.lshift(1, place)) ~= 0
      tree:add(field.made, tvb(at - 1, 1), values[field[1]])
      place = place + 1
    else
      place = 0
      local after = behind(tvb, kind, at, stop)
      if not after then return values, nil end
      if NUMBERS[kind] then
        values[field[1]] = tvb(at, after - at):uint()
        tree:add(field.made, tvb(at, after - at))
      else
        local item = tree:add(field.made, tvb(at + LENGTHS[kind], after - at - LENGTHS[kind]))
        if kind == "table" and not add_table(tvb, item, at + 2, after) then
          item:add_proto_expert_info(malformed, "the table is malformed")
        end
      end
      at = after
    end
  end
  return values, at
end

-- Give how many octets of a message follow a command; what comes before that in the command has a fixed length.
local function announced(tvb, command, at, stop)
  if not command.fragment then return 0 end
  local size, place, out = 0, 0, false
  for _, field in ipairs(command.fields) do
    if field[2] == "bit" then
      if place == 0 then at = at + 1 end
      if at > stop then return 0 end
      if field[1] == "out-of-band" then out = bit.band(tvb(at - 1, 1):uint(), bit.lshift(1, place)) ~= 0 end
      place = place + 1
    else
      local after = behind(tvb, field[2], at, stop)
      if not after then return 0 end
      if field[1] == "fragment-size" then size = tvb(at, 4):uint() end
      at, place = after, 0
    end
  end
  return (out or at ~= stop) and 0 or size
end

-- Say whether a fragment begins a message: the one before it on the handle was the last of another.
local function is_first(pinfo, at, values)
  local key = pinfo.number .. ":" .. at
  if begins[key] == nil then
    local handle = tostring(pinfo.src) .. ":" .. pinfo.src_port .. ">" .. pinfo.dst_port .. ":" .. values["handle-id"]
    begins[key] = not unfinished[handle] and not values["recovery"]
    unfinished[handle] = values["partial"] or nil
  end
  return begins[key]
end

local function add_fragment(tvb, pinfo, tree, at, size, values)
  local item = tree:add(f.fragment, tvb(at, size))
  if is_first(pinfo, at, values) then
    local _, after = add_fields(tvb, item, GRAMMAR.message, at, at + size)
    if not after then item:append_text(" (its header goes on in the next one)") end
  end
end

local function add_frame(tvb, pinfo, root, at, start, stop, size)
  local code = tvb(start, 1):uint()
  local command = GRAMMAR.commands[code]
  local tree = root:add(fast, tvb(at, stop + size - at), "AMQP/Fast, " .. (command and command.name or "unknown command"))
  tree:add(f.size, tvb(at, start - at), stop - start)
  tree:add(f.command, tvb(start, 1))
  if command then
    local values, after = add_fields(tvb, tree, command.fields, start + 1, stop - 1)
    if after ~= stop - 1 then tree:add_proto_expert_info(malformed, "the fields do not fill the command") end
    if size > 0 then add_fragment(tvb, pinfo, tree, stop, size, values) end
  else
    tree:add_proto_expert_info(malformed, "no command has this code")
  end
  tree:add(f.frame_end, tvb(stop - 1, 1))
  return command and command.name or "unknown command"
end

-- Give start and end of the frame at an offset, without its fragment; nil while that is not whole.
local function frame(tvb, at)
  local left = tvb:len() - at
  if left < 2 then return nil end
  local start, size = at + 2, tvb(at, 2):uint()
  if size == 0xFFFF then
    if left < 6 then return nil end
    start, size = at + 6, tvb(at + 2, 4):uint()
  end
  return start, start + size
end

local function wait(pinfo, at)
  pinfo.desegment_offset = at
  pinfo.desegment_len = DESEGMENT_ONE_MORE_SEGMENT
end

local function initiation(tvb, root)
  local tree = root:add(fast, tvb(0, 2), "AMQP/Fast, initiation")
  tree:add(f.protocol_id, tvb(0, 1))
  tree:add(f.protocol_version, tvb(1, 1))
end

local function dissect(tvb, pinfo, root, at)
  local told = {}
  while at < tvb:len() do
    local start, stop = frame(tvb, at)
    if not start or (stop > tvb:len() and stop - start >= 2) then
      wait(pinfo, at)
      break
    end
    if stop - start < 2 or tvb(stop - 1, 1):uint() ~= END then
      local tree = root:add(fast, tvb(at), "AMQP/Fast, no frame")
      tree:add_proto_expert_info(malformed, "octets that are no frame")
      break
    end
    local command = GRAMMAR.commands[tvb(start, 1):uint()]
    local size = command and announced(tvb, command, start + 1, stop - 1) or 0
    if stop + size > tvb:len() then
      wait(pinfo, at)
      break
    end
    told[#told + 1] = add_frame(tvb, pinfo, root, at, start, stop, size)
    at = stop + size
  end
  if #told > 0 then pinfo.cols.info = table.concat(told, ", ") end
end

local ports = DissectorTable.get("tcp.port")
local others = {}

function fast.dissector(tvb, pinfo, root)
  local stream = tcp_stream().value
  local known = speaks[stream]
  if known == nil then
    if tvb:len() == 1 and tvb(0, 1):uint() == GRAMMAR.protocol_id then
      wait(pinfo, 0)
      return tvb:len()
    end
    known = tvb:len() >= 2 and tvb(0, 1):uint() == GRAMMAR.protocol_id and pinfo.number or false
    speaks[stream] = known
  end
  if not known then
    local other = others[pinfo.match_uint] or others[pinfo.dst_port] or others[pinfo.src_port]
    return other and other:call(tvb, pinfo, root) or 0
  end
  pinfo.cols.protocol = "AMQP/Fast"
  local at = 0
  if known == pinfo.number then
    initiation(tvb, root)
    pinfo.cols.info = "initiation"
    at = 2
  end
  dissect(tvb, pinfo, root, at)
  return tvb:len()
end

-- The port is that of other versions of AMQP, too: a stream that does not begin as AMQP/Fast is left to their dissector.
local function listen(port)
  others[port] = ports:get_dissector(port)
  ports:add(port, fast)
end
listen(5672)
