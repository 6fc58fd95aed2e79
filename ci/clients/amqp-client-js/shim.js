'use strict';
// amqp-client.js as a shim: its AMQPClient, which does not reconnect (its AMQPSession would).

const { AMQPClient } = require('@cloudamqp/amqp-client');
const common = require('./contract');
const { Refused, unsupported } = common;

const CLOSED = /^(channel|connection) ?\d* closed: ([^]*) \((\d+)\)$/;
const LOST = /ECONN|EPIPE|ENOTFOUND|Socket closed|Socket not connected|Connection ended/;

/** A value for which the library chooses this type by itself; another it would send as another type. */
const chosen = (kind, convert, suits) => (given) => {
  const value = convert(given);
  if (!suits(value)) throw unsupported(`the ${kind} ${value}`);
  return value;
};
const fraction = (value) => !Number.isInteger(value);
const small = (value) => Math.abs(value) < 2 ** 32;

/** Typed values that the library can send. */
const KINDS = {
  i32: Number,
  i64: BigInt,
  f32: chosen('f32', common.fromBits('readFloatBE'), (value) => fraction(value) && small(value)),
  f64: chosen('f64', common.fromBits('readDoubleBE'), (value) => fraction(value) && !small(value)),
  time: (seconds) => new Date(Number(seconds) * 1000),
  bin: (hex) => Buffer.from(hex, 'hex'),
};

/** Methods by the function that the library has for each. */
const METHODS = {
  'queue.declare': (on, args) => {
    const [queue, table] = [args.take('queue'), args.take('arguments')];
    return on.queueDeclare(queue, args.options('passive', 'durable', 'exclusive', 'auto-delete'), table);
  },
  'exchange.declare': (on, args) => {
    const [exchange, type, table] = [args.take('exchange'), args.take('type', ''), args.take('arguments')];
    return on.exchangeDeclare(exchange, type, args.options('passive', 'durable', 'internal', 'auto-delete'), table);
  },
  'exchange.delete': (on, args) => on.exchangeDelete(args.take('exchange'), args.options('if-unused')),
  'queue.bind': (on, args) => on.queueBind(...args.ordered(['queue', 'exchange', 'routing-key', 'arguments'])),
  'queue.unbind': (on, args) => on.queueUnbind(...args.ordered(['queue', 'exchange', 'routing-key', 'arguments'])),
  'queue.purge': (on, args) => on.queuePurge(...args.ordered(['queue'])),
  'queue.delete': (on, args) => on.queueDelete(args.take('queue'), args.options('if-unused', 'if-empty')),
  'basic.qos': (on, args) => on.basicQos(...args.ordered(['prefetch-count', 'prefetch-size', 'global'])),
  'basic.recover': (on, args) => on.basicRecover(...args.ordered(['requeue'])),
  'channel.flow': async (on, args) => ({ active: await on.basicFlow(...args.ordered(['active'])) }),
  'tx.select': (on, args) => on.txSelect(...args.ordered([])),
  'tx.commit': (on, args) => on.txCommit(...args.ordered([])),
  'tx.rollback': (on, args) => on.txRollback(...args.ordered([])),
};

/** Say in the contract's words what the library says, which is all in its messages. */
function explain(error) {
  const [, level, text, code] = CLOSED.exec(error.message) || [];
  if (code) return new Refused('closed', text, { level, code: Number(code) }, error.name);
  const kind = LOST.test(error.message) ? 'lost' : error.message === 'timeout' ? 'timeout' : 'local';
  return new Refused(kind, error.message, {}, error.name);
}

const known = (value) => {
  if (value instanceof Date) return { time: String(value.getTime() / 1000) };
  return value instanceof Uint8Array ? { bin: Buffer.from(value).toString('hex') } : undefined;
};

/** Tell a message, with the token by which it is settled and echoed. */
function arrived(each, more = {}) {
  const { exchange, routingKey: key } = each;
  return common.message(each.body, each.properties, known, { token: shim.token(each), exchange, key, ...more });
}

const commands = {
  async connect(told, signal) {
    const { host, port, user, password, vhost, mechanism = 'PLAIN' } = told;
    if (mechanism !== 'PLAIN') throw unsupported(`the mechanism ${mechanism}`);
    if (!user || !password || !vhost) throw unsupported('an empty name or password: it takes others for them');
    const [login, path] = [[user, password].map(encodeURIComponent).join(':'), encodeURIComponent(vhost)];
    const { heartbeat, frame_max: frameMax, channel_max: channelMax } = told;
    const options = new URLSearchParams(common.renamed({ heartbeat, frameMax, channelMax }, String));
    const client = new AMQPClient(`amqp://${login}@${host}:${port}/${path}?${options}`);
    await client.connect();
    if (signal.aborted) return {};
    const connection = shim.keep(client);
    client.ondisconnect = (error) => connection.fall(explain(error));
    return { on: connection.name };
  },

  async open(told, on) {
    const channel = await on.of.channel();
    const endpoint = shim.keepOn(on, channel);
    channel.onerror = (reason) => {
      if (reason.startsWith('channel')) endpoint.fall(explain(new Error(reason)));
    };
    channel.onReturn = (each) => {
      endpoint.tell('returned', { code: each.replyCode, text: each.replyText, message: arrived(each) });
    };
    return { on: endpoint.name };
  },

  async call({ method, args }, on) {
    if (!Object.hasOwn(METHODS, method)) throw unsupported(`the library has no function for ${method}`);
    const { name: queue, ...reply } = (await METHODS[method](on.of, new common.Arguments(args, KINDS))) || {};
    return { reply: common.renamed({ queue, ...reply }, common.dashed) };
  },

  async send({ exchange, key, body, properties, mandatory, immediate, count = 1 }, on) {
    const set = common.properties(properties, KINDS, KINDS.time);
    const content = common.octets(body);
    const publish = () => on.of.basicPublish(exchange, key, content, set, mandatory, immediate);
    await Promise.all(Array.from({ length: count }, publish));
  },

  async get({ queue, settled }, on) {
    const got = await on.of.basicGet(queue, { noAck: settled });
    return { message: got && arrived(got, { redelivered: got.redelivered }) };
  },

  async receive({ queue, settled, tag: wanted, arguments: given }, on) {
    const how = { noAck: settled, tag: wanted, args: given && common.decode(given, KINDS) };
    const consumer = await on.of.basicConsume(queue, how, (each) => {
      on.tell('message', { tag: each.consumerTag, message: arrived(each, { redelivered: each.redelivered }) });
    });
    const { tag } = consumer;
    consumer.wait().catch((error) => /cancelled/.test(error.message) && on.tell('cancelled', { tag }));
    return { tag };
  },

  stop: ({ tag }, on) => on.of.basicCancel(tag).then(() => ({})),

  async settle({ token, outcome, multiple = false }, on) {
    const { deliveryTag } = shim.kept(token);
    if (outcome === 'accept') await on.of.basicAck(deliveryTag, multiple);
    else if (multiple || outcome === 'modify') throw unsupported(`to ${outcome}${multiple ? ' several' : ''}`);
    else await on.of.basicReject(deliveryTag, outcome === 'release');
  },

  async echo({ token, key = '' }, on) {
    const { body, properties } = shim.kept(token);
    await on.of.basicPublish('', key, body, properties);
  },

  close: (told, on) => on.of.close(),
};

const about = { library: 'amqp-client.js', version: common.versionOf('@cloudamqp/amqp-client'), protocol: '0-9-1' };
const shim = new common.Shim({ about, commands, explain }).serve();
