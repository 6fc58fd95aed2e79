'use strict';
// rhea as a shim: it gives no credit, accepts nothing and reconnects not by itself.

const rhea = require('rhea');
const { Refused, Shim, renamed, unsupported, versionOf } = require('./contract');
const { closed, explain, heed, leave, next } = require('./ends');
const { composed, told } = require('./values');

const OUTCOMES = ['accepted', 'rejected', 'released', 'modified'];
const SETTLING = { unsettled: 0, settled: 1, mixed: 2, first: 0, second: 1 };

function mechanisms({ mechanism, user, password }) {
  const made = rhea.sasl.client_mechanisms();
  const enable = { PLAIN: 'enable_plain', ANONYMOUS: 'enable_anonymous', EXTERNAL: 'enable_external' }[mechanism];
  if (!enable) throw unsupported(`the mechanism ${mechanism}`);
  made[enable](user, password);
  return made;
}

const commands = {
  async connect(wanted, signal) {
    if (wanted.heartbeat !== undefined) throw unsupported('heartbeat');
    const { host, port, user: username, password, hostname, container: container_id, channel_max } = wanted;
    const { frame_max: max_frame_size, idle: idle_time_out } = wanted;
    const options = { hostname, container_id, channel_max, max_frame_size, idle_time_out, reconnect: false };
    if (wanted.mechanism) options.sasl_mechanisms = mechanisms(wanted);
    const model = rhea.create_container().connect(renamed({ host, port, username, password, ...options }, String));
    let connection = null;
    await new Promise((resolve, reject) => {
      const fall = (fate) => (connection ? connection.fall(fate) : reject(fate));
      model.on('connection_open', () => {
        if (!signal.aborted) connection = shim.keep(model);
        resolve();
      });
      model.on('connection_error', () => {}); // its close tells it, too
      model.on('connection_close', ({ error }) => {
        if (error || !connection || !connection.leaving) fall(closed('connection', error));
      });
      model.on('disconnected', ({ error }) => fall(error ? explain(error) : new Refused('lost', 'disconnected')));
      for (const event of ['protocol_error', 'error']) model.on(event, (error) => fall(explain(error)));
    });
    return { on: connection && connection.name };
  },

  async open(wanted, on) {
    const session = shim.keepOn(on, on.of.create_session());
    heed(session, 'session', 'session');
    session.of.begin();
    await session.during(next(session.of, 'session_open'));
    return { on: session.name };
  },

  async attach({ role, address, name, snd, rcv, credit = 0 }, on) {
    const modes = { snd_settle_mode: SETTLING[snd], rcv_settle_mode: SETTLING[rcv] };
    const terminus = { sender: 'target', receiver: 'source' }[role];
    const own = { credit_window: 0, autoaccept: false, treat_modified_as_released: false };
    const of = on.of[`open_${role}`](renamed({ name, ...modes, ...own, [terminus]: { address } }, String));
    const link = shim.keepOn(on, of, role[0]);
    Object.assign(link, { settled: snd === 'settled', pending: new Map() });
    heed(link, 'link', role);
    of.on('message', ({ message, delivery }) => {
      const token = shim.token({ message, delivery });
      link.tell('message', { tag: delivery.tag.toString('hex'), message: { token, ...told(message) } });
    });
    for (const outcome of OUTCOMES) of.on(outcome, ({ delivery }) => decided(link, delivery, outcome));
    of.on('settled', ({ delivery }) => decided(link, delivery, null));
    // That there is nothing more to send is for its user to say, where the other side wants to drain.
    of.on('sender_draining', () => of.set_drained(true));
    await link.during(next(of, `${role}_open`));
    // One without a terminus, or with a null that the library has wrapped, is refused; the reason comes with the detach.
    if (!of[terminus] || of[terminus].value === null) await link.during(new Promise(() => {}));
    if (credit) of.add_credit(credit);
    return { on: link.name };
  },

  send: (wanted, on) => send(on, composed(wanted), wanted),

  async credit({ credit }, on) {
    on.of.add_credit(credit);
  },

  async drain(wanted, { of }) {
    // Where its user does not say that this is over, all later credit is to be drained, too.
    of.once('receiver_drained', () => Object.assign(of, { drain: false }));
    of.drain_credit();
  },

  async settle({ token, outcome, multiple = false }) {
    if (multiple) throw unsupported('to settle several');
    const { delivery } = shim.kept(token);
    if (outcome === 'modify') delivery.modified({});
    else delivery[outcome]();
  },

  echo: ({ token }, on) => send(on, shim.kept(token).message, {}).then(() => ({})),
  close: (wanted, on) => leave(on, 'close'),
  detach: (wanted, on) => leave(on, 'detach'),
};

/** What became of a delivery; only the first that is said of it counts. */
function decided(link, delivery, outcome) {
  const tell = link.pending.get(delivery);
  link.pending.delete(delivery);
  if (tell) tell(outcome);
}

async function send(link, message, { settled = false, wait = true, count = 1 }) {
  if (link.doom) throw link.doom;
  // Whether a message is sent settled is said of the link, not of each.
  if (settled && !link.settled) throw unsupported('a settled message on a link that is not so');
  const outcomes = [];
  for (let sent = 0; sent < count; sent++) {
    const delivery = link.of.send(message);
    const tag = delivery.tag.toString();
    const decision = new Promise((resolve) => link.pending.set(delivery, (outcome) => resolve({ outcome })));
    if (!wait) decision.then(({ outcome }) => link.tell('outcome', { tag, outcome }));
    if (link.settled) outcomes.push(wait ? { outcome: null } : { tag });
    else outcomes.push(wait ? decision : { tag });
  }
  return (await Promise.all(outcomes)).at(-1);
}

const about = { library: 'rhea', version: versionOf('rhea'), protocol: '1-0' };
const shim = new Shim({ about, commands, explain }).serve();
