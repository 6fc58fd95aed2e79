'use strict';
// What the shims of Node.js share: lines, answers, names of what is open, events, tokens, bodies and typed values.

const diagnostics = require('node:diagnostics_channel');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

const CONTRACT = 1;
/** Octets of the longest body that is also told as a text. */
const TEXT = 1024;
/** Milliseconds that what was told already may still take once stdin has ended. */
const PARTING = 500;

// stdout is for answers alone: whatever a library prints goes to the log.
const say = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

/** All sockets that the library opens, so that `reset` can drop them whatever the library makes of it. */
const sockets = new Set();
diagnostics.subscribe('net.client.socket', ({ socket }) => {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
});

/** Why a command was not carried out; `more` are further fields of the answer (level, code, condition). */
class Refused extends Error {
  constructor(kind, text, more = {}, native = undefined) {
    super(text);
    Object.assign(this, { kind, more, native });
  }
}

const unsupported = (what) => new Refused('unsupported', what);

/** What is open under a name: a connection, or something on it. `of` is the library's own object. */
class Endpoint {
  constructor(name, of, parent = null) {
    Object.assign(this, { name, of, parent, fate: null, events: [], notice: () => {} });
    this.ended = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  get connection() {
    return this.parent ? this.parent.connection : this;
  }

  /** What ended it or what it is on, if anything did. */
  get doom() {
    return this.fate || (this.parent && this.parent.doom);
  }

  /** It is over, for a reason that all later commands are told. The first reason stays. */
  end(fate) {
    this.fate = this.fate || fate;
    this.resolve();
    this.connection.notice();
  }

  /** Queue an event, told by `wait`. */
  tell(event, more = {}) {
    this.connection.events.push({ event, on: this.name, ...more });
    this.connection.notice();
  }

  /** It is over by what the other side did, or the library by itself, which is an event. */
  fall(fate) {
    if (this.fate) return;
    if (fate.kind === 'closed') this.tell('closed', { ...fate.more, text: fate.message });
    else if (!this.parent) this.tell('lost');
    this.end(fate);
  }

  /** Wait for what the library promises, but not beyond the end of this endpoint. */
  during(promise) {
    const ends = [];
    for (let each = this; each; each = each.parent) ends.push(each.ended);
    const over = Promise.race(ends).then(() => {
      throw this.doom;
    });
    return Promise.race([promise, over]);
  }

  /** Wait until `count` events are there, `seconds` have passed or the connection is over. */
  async wait(seconds, count = Infinity) {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, seconds * 1000);
      this.notice = () => {
        if (this.events.length < count && !this.fate) return;
        clearTimeout(timer);
        resolve();
      };
      this.notice();
    });
    this.notice = () => {};
    return { events: this.events.splice(0) };
  }
}

/** Names and tokens of all that is open, and the loop. */
class Shim {
  /** `library`: about (of hello), commands by their names, explain(error) which makes a Refused of it. */
  constructor(library) {
    Object.assign(this, { library, endpoints: new Map(), tokens: new Map(), connections: 0, count: 0 });
  }

  /** Keep a connection under the next name. */
  keep(of) {
    return this.register(new Endpoint(`c${this.connections++}`, of));
  }

  /** Keep what was opened on something under its name. */
  keepOn(parent, of, mark = '') {
    parent.opened = (parent.opened || 0) + 1;
    return this.register(new Endpoint(`${parent.name}/${mark}${parent.opened}`, of, parent));
  }

  register(endpoint) {
    this.endpoints.set(endpoint.name, endpoint);
    return endpoint;
  }

  find(name) {
    if (!this.endpoints.has(name)) throw new Refused('local', `nothing is called ${name}`);
    return this.endpoints.get(name);
  }

  /** Give a name to what arrived. */
  token(of) {
    this.tokens.set(`m${++this.count}`, of);
    return `m${this.count}`;
  }

  kept(token) {
    if (!this.tokens.has(token)) throw new Refused('local', `no message is called ${token}`);
    return this.tokens.get(token);
  }

  /** Drop all sockets without a word, but those of before. */
  drop(before = new Set()) {
    for (const socket of sockets) if (!before.has(socket)) socket.destroy();
  }

  reset() {
    this.drop();
    this.endpoints.clear();
    this.tokens.clear();
    if (this.library.reset) this.library.reset();
    return {};
  }

  /** Do what a line says; `signal` is aborted when nobody waits for it any more. */
  async run(told, signal) {
    if (told.do === 'hello') return { contract: CONTRACT, language: 'JavaScript', ...this.library.about };
    if (told.do === 'reset') return this.reset();
    if (told.do === 'wait') return this.find(told.on).connection.wait(told.for, told.count);
    const act = Object.hasOwn(this.library.commands, told.do) && this.library.commands[told.do];
    if (!act) throw new Refused('unknown', `there is no command ${told.do}`);
    const on = told.on === undefined ? null : this.find(told.on);
    // What is over already is told even where the library acts as if it were not.
    const doom = on && on.doom;
    try {
      const done = await (on ? on.during(act(told, on, signal)) : act(told, signal));
      if (told.do === 'close' || told.do === 'detach') on.end(new Refused('local', `${on.name} has been closed`));
      if (doom) throw doom;
      return done || {};
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw (on && on.doom) || this.library.explain(error);
    }
  }

  /** Answer a line. Nothing takes longer than `within`, but `wait`, which says by itself how long. */
  async answer(line) {
    let told = {};
    const before = new Set(sockets);
    const aborter = new AbortController();
    let timer;
    try {
      told = JSON.parse(line);
      const work = [this.run(told, aborter.signal)];
      if (told.do !== 'wait') {
        work.push(
          new Promise((_, reject) => {
            const late = () => reject(new Refused('timeout', `no answer to ${told.do} within ${told.within} s`));
            if (told.within !== undefined) timer = setTimeout(late, told.within * 1000);
            this.stumble = (error) => reject(this.library.explain(error));
          }),
        );
      }
      return { id: told.id, ok: await Promise.race(work) };
    } catch (error) {
      aborter.abort();
      const kind = error instanceof Refused ? error.kind : 'internal';
      // What the library gives up by itself it ends by itself.
      if (told.do === 'connect' && kind === 'timeout') this.drop(before);
      const native = error.native || (error instanceof Refused ? 'Error' : error.name);
      return { id: told.id, error: { kind, native, text: String(error.message), ...error.more } };
    } finally {
      clearTimeout(timer);
      this.stumble = null;
    }
  }

  serve() {
    // What a library throws where nobody can catch it is the answer to what runs, and ends nothing.
    process.on('uncaughtException', (error) => {
      console.error(error);
      if (this.stumble) this.stumble(error);
    });
    process.on('unhandledRejection', (error) => console.error(error));
    let last = Promise.resolve();
    const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
    lines.on('line', (line) => {
      last = last.then(async () => say(`${JSON.stringify(await this.answer(line))}\n`));
    });
    lines.on('close', () => {
      const exit = () => process.exit(0);
      setTimeout(exit, PARTING);
      last.then(exit);
    });
    return this;
  }
}

/** The arguments of a method, of which each must be taken or be what the library sends anyway. */
class Arguments {
  constructor(given, kinds) {
    this.left = new Map(Object.entries(given || {}).map(([name, value]) => [name, decode(value, kinds)]));
  }

  take(name, otherwise = undefined) {
    const value = this.left.has(name) ? this.left.get(name) : otherwise;
    this.left.delete(name);
    return value;
  }

  /** Take those that are given as an object, as JavaScript spells their names. */
  options(...names) {
    const taken = names.filter((name) => this.left.has(name)).map((name) => [camel(name), this.take(name)]);
    this.rest();
    return Object.fromEntries(taken);
  }

  /** Take them in this order; what else is given must be as the library has it. */
  ordered(names, fixed = {}) {
    const taken = names.map((name) => this.take(name));
    this.rest(fixed);
    return taken;
  }

  /** All that remains must be as the library has it by itself, which is said here. */
  rest(fixed = {}) {
    for (const [name, value] of this.left) {
      if (name === 'no-wait' ? value : value !== fixed[name]) throw unsupported(`the argument ${name}`);
    }
  }
}

/** The version of a package installed beside this file. */
function versionOf(name) {
  return JSON.parse(fs.readFileSync(path.join(__dirname, 'node_modules', name, 'package.json'))).version;
}

const PATTERN = Buffer.from(Array.from({ length: 251 }, (_, i) => i));

/** Octets of a body: a text, or {"fill": n}. */
function octets(body) {
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.alloc(body.fill, PATTERN);
}

const CRC = Int32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes) {
  let value = -1;
  for (const byte of bytes) value = CRC[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ -1) >>> 0;
}

/** What is told of octets: size, crc32 and, where they are a short one, the text. */
function measured(bytes) {
  const told = { size: bytes.length, crc32: crc32(bytes) };
  if (bytes.length > TEXT) return told;
  try {
    told.text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // It is no text.
  }
  return told;
}

/**
 * Make the library's value of one of the contract. `kinds` has a function for each typed value that the library can
 * send; list and map have defaults.
 */
function decode(value, kinds) {
  if (value === null || typeof value !== 'object') return value;
  const [kind] = Object.keys(value);
  const make = kinds[kind] || { list: (each) => each, map: unique }[kind];
  if (!make) throw unsupported(`a value of type ${kind}`);
  if (kind === 'list') return make(value.list.map((each) => decode(each, kinds)));
  if (kind === 'map') return make(value.map.map((pair) => pair.map((each) => decode(each, kinds))));
  return make(value[kind], (each) => decode(each, kinds));
}

/** An object of pairs. It has each name but once. */
function unique(pairs) {
  const made = Object.create(null);
  for (const [name, value] of pairs) {
    if (name in made) throw unsupported('a name twice in one table');
    made[name] = value;
  }
  return made;
}

/** Tell a value of JavaScript; `known` tells those that are the library's own, or gives undefined. */
function encode(value, known = () => undefined) {
  if (value === undefined || value === null) return null;
  const told = known(value, (each) => encode(each, known));
  if (told !== undefined) return told;
  if (typeof value === 'bigint' || Number.isInteger(value)) return { int: String(BigInt(value)) };
  if (typeof value === 'number') return Number.isFinite(value) ? value : { f64: bits(8, 'writeDoubleBE', value) };
  if (typeof value !== 'object') return value;
  if (Buffer.isBuffer(value)) return { bin: value.toString('hex') };
  if (value instanceof Date) return { time: String(value.getTime()) };
  if (Array.isArray(value)) return { list: value.map((each) => encode(each, known)) };
  return { map: Object.entries(value).map(([name, each]) => [name, encode(each, known)]) };
}

/** Properties of 0-9-1 as JavaScript spells them; `time` makes the library's value of a timestamp. */
function properties(given, kinds, time) {
  const make = (value, name) => (name === 'timestamp' ? time(value.time) : decode(value, kinds));
  return renamed(given, camel, make);
}

/** Tell a message of 0-9-1; `known` tells the library's own values, `more` is told, too. */
function message(body, given, known, more) {
  const tell = (value, name) => {
    if (name !== 'timestamp') return name === 'headers' ? encode(value, known) : value;
    return { time: String(value instanceof Date ? value.getTime() / 1000 : BigInt(value)) };
  };
  return { ...measured(body), properties: renamed(given, dashed, tell), ...more };
}

/** Hex of what a method of Buffer writes. */
function bits(size, write, value) {
  const made = Buffer.alloc(size);
  made[write](value);
  return made.toString('hex');
}

const fromBits = (read) => (hex) => Buffer.from(hex, 'hex')[read]();
const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const camel = (name) => name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());

/** An object with what is there of another, its names and values changed. */
function renamed(object, name, value = (each) => each) {
  const there = Object.entries(object || {}).filter(([, each]) => each !== undefined && each !== null);
  return Object.fromEntries(there.map(([key, each]) => [name(key), value(each, key)]));
}

module.exports = {
  Arguments,
  Refused,
  Shim,
  bits,
  camel,
  dashed,
  decode,
  encode,
  fromBits,
  measured,
  message,
  octets,
  properties,
  renamed,
  unsupported,
  versionOf,
};
