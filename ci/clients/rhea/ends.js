'use strict';
// What ends a connection, a session or a link of rhea's: the other side, the library, or the shim.

const { Refused } = require('./contract');

/** The next time that something tells this event. */
const next = (emitter, event) => new Promise((resolve) => emitter.once(event, resolve));

/** What another side's close means. */
function closed(level, error) {
  const { condition, description } = error || {};
  // The library looks no further than its own SASL mechanisms.
  if (/^(No suitable mechanism|SASL mechanism)/.test(description)) return new Refused('local', description);
  return new Refused('closed', description || '', condition ? { level, condition } : { level }, error && error.name);
}

const explain = (error) => new Refused(error.syscall ? 'lost' : 'local', error.message, {}, error.name);

/** Have the end of a session or a link told, unless the shim asked for it. */
function heed(endpoint, level, mark) {
  endpoint.of.on(`${mark}_error`, () => {}); // its close tells it, too
  endpoint.of.on(`${mark}_close`, () => {
    const { error } = endpoint.of;
    if (error || !endpoint.leaving) endpoint.fall(closed(level, error));
  });
}

/** Leave it by one of its functions, and wait for the other side. */
function leave(on, how) {
  const { of } = Object.assign(on, { leaving: true });
  const mark = of.create_session ? 'connection' : of.links ? 'session' : of.is_sender() ? 'sender' : 'receiver';
  const over = next(of, `${mark}_close`);
  of[how]();
  return over.then(() => ({}));
}

module.exports = { closed, explain, heed, leave, next };
