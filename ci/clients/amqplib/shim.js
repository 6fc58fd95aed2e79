'use strict';
// amqplib as a shim (its promises; the connection's recovery is off by default).

const amqplib = require('amqplib');
const common = require('./contract');
const { Refused, unsupported } = common;

const typed = (type, convert = Number) => (value) => ({ '!': type, value: convert(value) });

/** Typed values that amqplib can send, by its notation of them. */
const KINDS = {
  ...{ i8: typed('int8'), u8: typed('uint8'), i16: typed('int16'), u16: typed('uint16') },
  ...{ i32: typed('int32'), u32: typed('uint32'), i64: typed('int64', BigInt), time: typed('timestamp', BigInt) },
  f32: typed('float', common.fromBits('readFloatBE')),
  f64: typed('double', common.fromBits('readDoubleBE')),
  dec: ([places, digits]) => ({ '!': 'decimal', value: { places, digits: Number(digits) } }),
  bin: (hex) => Buffer.from(hex, 'hex'),
};
const BINDING = ['queue', 'exchange', 'routing-key', 'arguments'];

/** Methods by the function that amqplib has for each; what is not taken has to be what it sends by itself. */
const METHODS = {
  'queue.declare': (on, args) => {
    const queue = args.take('queue');
    if (!args.take('passive')) {
      return on.assertQueue(queue, args.options('durable', 'exclusive', 'auto-delete', 'arguments'));
    }
    args.rest({ durable: true, exclusive: false, 'auto-delete': false });
    return on.checkQueue(queue);
  },
  'exchange.declare': (on, args) => {
    const exchange = args.take('exchange');
    if (!args.take('passive')) {
      const type = args.take('type');
      return on.assertExchange(exchange, type, args.options('durable', 'internal', 'auto-delete', 'arguments'));
    }
    args.rest({ type: '', durable: true, internal: false, 'auto-delete': false });
    return on.checkExchange(exchange);
  },
  'exchange.delete': (on, args) => on.deleteExchange(args.take('exchange'), args.options('if-unused')),
  'queue.bind': (on, args) => on.bindQueue(...args.ordered(BINDING)),
  'queue.unbind': (on, args) => on.unbindQueue(...args.ordered(BINDING)),
  'queue.purge': (on, args) => on.purgeQueue(...args.ordered(['queue'])),
  'queue.delete': (on, args) => on.deleteQueue(args.take('queue'), args.options('if-unused', 'if-empty')),
  'basic.qos': (on, args) => on.prefetch(...args.ordered(['prefetch-count', 'global'], { 'prefetch-size': 0 })),
  'basic.recover': (on, args) => on.recover(...args.ordered([], { requeue: true })),
};

const SERVER = /(?:Handshake terminated by server|Connection closed|Channel closed by server|Operation failed)/;
const LOST = /Unexpected close|Socket closed abruptly/;
const CODE = /(\d+) \([^)]*\) with message "([^]*)"$/;

/** Say in the contract's words what amqplib says: codes stand in its messages, kinds of failures nowhere else. */
function explain(error) {
  const refuse = (kind, text = error.message, more = {}) => new Refused(kind, text, more, error.name);
  const [, code, text] = (SERVER.test(error.message) && CODE.exec(error.message)) || [];
  const level = /^(Handshake|Connection)/.test(error.message) ? 'connection' : 'channel';
  if (code) return refuse('closed', text, { level, code: Number(code) });
  // Of a close that answers Connection.Open amqplib tells nothing but that it was one.
  if (/got <ConnectionClose/.test(error.message)) return refuse('closed', error.message, { level: 'connection' });
  if (error.message === 'connect ETIMEDOUT') return refuse('timeout');
  return refuse(error.syscall || LOST.test(error.message) ? 'lost' : 'local');
}

const known = (value) => {
  if (value['!'] === 'timestamp') return { time: String(BigInt(value.value)) };
  return value['!'] === 'decimal' ? { dec: [value.value.places, String(value.value.digits)] } : undefined;
};

/** Tell a message, with the token by which it is settled and echoed. */
function arrived(each, more = {}) {
  const { exchange, routingKey: key } = each.fields;
  return common.message(each.content, each.properties, known, { token: shim.token(each), exchange, key, ...more });
}

const delivered = (each) => arrived(each, { redelivered: each.fields.redelivered });

const commands = {
  async connect(told, signal) {
    const { host, port, user, password, vhost, heartbeat, frame_max: frameMax, channel_max: channelMax } = told;
    const mechanism = (told.mechanism || 'PLAIN').toLowerCase();
    if (!amqplib.credentials[mechanism]) throw unsupported(`the mechanism ${told.mechanism}`);
    if (!vhost) throw unsupported('an empty virtual host, of which it makes "/"');
    const place = { hostname: host, port, vhost: encodeURIComponent(vhost), heartbeat, frameMax, channelMax };
    const options = { credentials: amqplib.credentials[mechanism](user, password), timeout: told.within * 1000 };
    const model = await amqplib.connect(place, options);
    model.on('error', () => {}); // `close` tells it, too
    if (signal.aborted) return {};
    const connection = shim.keep(model);
    model.on('close', (error) => error && connection.fall(explain(error)));
    return { on: connection.name };
  },

  async open(told, on) {
    const endpoint = shim.keepOn(on, await on.of.createChannel());
    endpoint.of.on('error', (error) => endpoint.fall(explain(error)));
    endpoint.of.on('return', (each) => {
      const { replyCode: code, replyText: text } = each.fields;
      endpoint.tell('returned', { code, text, message: arrived(each) });
    });
    return { on: endpoint.name };
  },

  async call({ method, args }, on) {
    if (!Object.hasOwn(METHODS, method)) throw unsupported(`amqplib has no function for ${method}`);
    const reply = await METHODS[method](on.of, new common.Arguments(args, KINDS));
    return { reply: common.renamed(reply, common.dashed) };
  },

  async send({ exchange, key, body, properties, mandatory = false, immediate = false, count = 1 }, on) {
    if (immediate) throw unsupported('immediate');
    const set = common.properties(properties, KINDS, Number);
    const content = common.octets(body);
    for (let sent = 0; sent < count; sent++) on.of.publish(exchange, key, content, { ...set, mandatory });
  },

  async get({ queue, settled }, on) {
    const got = await on.of.get(queue, { noAck: settled });
    return { message: got ? delivered(got) : null };
  },

  async receive({ queue, settled, tag, arguments: given }, on) {
    const heard = (each) => {
      if (each) on.tell('message', { tag: each.fields.consumerTag, message: delivered(each) });
      else on.tell('cancelled', { tag: ok.consumerTag });
    };
    const how = { noAck: settled, consumerTag: tag, arguments: given && common.decode(given, KINDS) };
    const ok = await on.of.consume(queue, (each) => heard(each), how);
    return { tag: ok.consumerTag };
  },

  stop: ({ tag }, on) => on.of.cancel(tag).then(() => ({})),

  async settle({ token, outcome, multiple = false }, on) {
    const each = shim.kept(token);
    if (outcome === 'accept') on.of.ack(each, multiple);
    else if (multiple || outcome === 'modify') throw unsupported(`to ${outcome}${multiple ? ' several' : ''}`);
    else on.of.reject(each, outcome === 'release');
  },

  async echo({ token, key = '' }, on) {
    const { content, properties } = shim.kept(token);
    on.of.publish('', key, content, properties);
  },

  close: (told, on) => on.of.close(),
};

const about = { library: 'amqplib', version: common.versionOf('amqplib'), protocol: '0-9-1' };
const shim = new common.Shim({ about, commands, explain }).serve();
