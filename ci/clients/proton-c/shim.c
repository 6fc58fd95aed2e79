// Qpid Proton C as a shim, by its connection driver.
#include "connection.h"
#include "values.h"

#include <proton/sasl.h>
#include <proton/terminus.h>
#include <proton/transport.h>
#include <proton/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json *hello(json *line) {
  (void)line;
  // The library does not tell its version when it runs: this is that of its headers.
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", PN_VERSION_MAJOR, PN_VERSION_MINOR, PN_VERSION_POINT);
  json *said = with(json_object_new_object(), "contract", json_object_new_int(1));
  with(with(said, "library", json_object_new_string("proton-c")), "version", json_object_new_string(version));
  return with(with(said, "language", json_object_new_string("C")), "protocol", json_object_new_string("1-0"));
}

static json *on(const char *name) { return one("on", json_object_new_string(name)); }

// Connections, sessions, links.

static bool is_connected(void *about) {
  const struct connection *connection = about;
  return pn_connection_state(connection->driver.connection) & PN_REMOTE_ACTIVE;
}

static json *connect_to(json *line) {
  static int connections;
  const double within = number(member(line, "within"), 5);
  const char *mechanism = cstring(member(line, "mechanism"), NULL);
  if (member(line, "heartbeat"))
    unsupported("AMQP 1.0 has no heartbeat, but an idle time-out");
  const int socket = reach(cstring(member(line, "host"), ""), cstring(member(line, "port"), ""), within);
  struct connection *connection = calloc(1, sizeof *connection);
  pn_connection_driver_init(&connection->driver, NULL, NULL);
  connection->socket = socket;
  connection->name = name_it(connection, "c%d", connections++);
  pn_connection_t *whole = connection->driver.connection;
  pn_transport_t *transport = connection->driver.transport;
  pn_sasl_set_allow_insecure_mechs(pn_sasl(transport), true); // else there is no PLAIN without TLS
  if (mechanism)
    pn_sasl_allowed_mechs(pn_sasl(transport), mechanism);
  pn_connection_set_user(whole, cstring(member(line, "user"), NULL));
  pn_connection_set_password(whole, cstring(member(line, "password"), NULL));
  pn_connection_set_container(whole, cstring(member(line, "container"), NULL));
  pn_connection_set_hostname(whole, cstring(member(line, "hostname"), NULL));
  if (member(line, "frame_max"))
    pn_transport_set_max_frame(transport, (uint32_t)number(member(line, "frame_max"), 0));
  if (member(line, "channel_max"))
    pn_transport_set_channel_max(transport, (uint16_t)number(member(line, "channel_max"), 0));
  if (member(line, "idle"))
    pn_transport_set_idle_timeout(transport, (pn_millis_t)number(member(line, "idle"), 0));
  pn_connection_open(whole);
  await(line, connection, NULL, is_connected, connection);
  if (connection->over)
    refuse(json_object_get(connection->over));
  return on(connection->name);
}

static struct endpoint *endpoint(struct connection *of) {
  struct endpoint *fresh = calloc(1, sizeof *fresh);
  fresh->of = of;
  return fresh;
}

static bool is_open(void *about) {
  const struct endpoint *endpoint = about;
  if (!endpoint->link)
    return pn_session_state(endpoint->session) & PN_REMOTE_ACTIVE;
  // A link that is refused comes without its terminus first, and is closed then.
  pn_terminus_t *theirs =
      pn_link_is_sender(endpoint->link) ? pn_link_remote_target(endpoint->link) : pn_link_remote_source(endpoint->link);
  return pn_link_state(endpoint->link) & PN_REMOTE_ACTIVE && pn_terminus_get_type(theirs) != PN_UNSPECIFIED;
}

static json *open_session(json *line) {
  struct connection *connection = connection_on(line);
  struct endpoint *session = endpoint(connection);
  session->session = pn_session(connection->driver.connection);
  session->name = name_it(session, "%s/%d", connection->name, ++connection->sessions);
  pn_session_set_context(session->session, session);
  pn_session_open(session->session);
  await(line, connection, session, is_open, session);
  return on(session->name);
}

static json *attach(json *line) {
  static int links;
  struct endpoint *session = endpoint_on(line), *link = endpoint(session->of);
  const bool sends = !strcmp(cstring(member(line, "role"), ""), "sender");
  const char *snd = cstring(member(line, "snd"), ""), *rcv = cstring(member(line, "rcv"), "");
  char name[32];
  snprintf(name, sizeof name, "link-%d", ++links);
  const char *wanted = cstring(member(line, "name"), name);
  link->link = sends ? pn_sender(session->session, wanted) : pn_receiver(session->session, wanted);
  link->within = session;
  link->name = name_it(link, "%s/%c%d", session->name, sends ? 's' : 'r', ++session->links);
  pn_link_set_context(link->link, link);
  pn_terminus_set_address(sends ? pn_link_target(link->link) : pn_link_source(link->link),
                          cstring(member(line, "address"), NULL));
  if (*snd)
    pn_link_set_snd_settle_mode(link->link, !strcmp(snd, "unsettled") ? PN_SND_UNSETTLED
                                            : !strcmp(snd, "settled") ? PN_SND_SETTLED
                                                                      : PN_SND_MIXED);
  if (*rcv)
    pn_link_set_rcv_settle_mode(link->link, !strcmp(rcv, "second") ? PN_RCV_SECOND : PN_RCV_FIRST);
  pn_link_open(link->link);
  if (!sends)
    pn_link_flow(link->link, (int)number(member(line, "credit"), 0));
  await(line, link->of, link, is_open, link);
  return on(link->name);
}

static struct endpoint *link_on(json *line, bool sends) {
  struct endpoint *link = endpoint_on(line);
  if (!link->link || pn_link_is_sender(link->link) != sends)
    refuse(error("local", "", here(sends ? "it is no sender" : "it is no receiver")));
  return link;
}

static json *credit(json *line) {
  struct endpoint *link = link_on(line, false);
  pn_link_flow(link->link, (int)number(member(line, "credit"), 0));
  flush(link->of);
  return NULL;
}

static bool is_drained(void *about) { return !pn_link_draining(((struct endpoint *)about)->link); }

static json *drain(json *line) {
  struct endpoint *link = link_on(line, false);
  pn_link_drain(link->link, 0);
  await(line, link->of, link, is_drained, link);
  return NULL;
}

static bool is_detached(void *about) {
  const struct endpoint *link = about;
  return link->detached || pn_link_state(link->link) & PN_REMOTE_CLOSED;
}

static bool is_closed(void *about) {
  const struct endpoint *endpoint = about;
  return endpoint->link ? is_detached(about) : pn_session_state(endpoint->session) & PN_REMOTE_CLOSED;
}

static bool is_disconnected(void *about) {
  const struct connection *connection = about;
  return pn_connection_state(connection->driver.connection) & PN_REMOTE_CLOSED;
}

static json *leave(json *line, bool detaches) {
  struct endpoint *endpoint = endpoint_on(line);
  endpoint->leaving = true;
  if (!endpoint->link)
    pn_session_close(endpoint->session);
  else if (detaches)
    pn_link_detach(endpoint->link);
  else
    pn_link_close(endpoint->link);
  await(line, endpoint->of, endpoint, is_closed, endpoint);
  endpoint->over = error("local", "", here("it is closed"));
  return NULL;
}

static json *detach(json *line) { return leave(line, true); }

static json *close_it(json *line) {
  if (strchr(cstring(member(line, "on"), ""), '/'))
    return leave(line, false);
  struct connection *connection = connection_on(line);
  pn_connection_close(connection->driver.connection);
  await(line, connection, NULL, is_disconnected, connection);
  connection->over = error("local", "", here("it is closed"));
  flush(connection);
  return NULL;
}

// Messages.

struct sent {
  struct endpoint *link;
  int count;
  pn_delivery_t **deliveries;
};

static bool has_outcomes(void *about) {
  const struct sent *sent = about;
  for (int at = 0; at < sent->count; at++)
    if (!outcome_of(sent->deliveries[at]) && !pn_delivery_settled(sent->deliveries[at]))
      return false;
  return true;
}

static pn_delivery_t *put_on_link(struct endpoint *link, pn_message_t *message, void *mark, bool settled) {
  static unsigned long tags;
  char tag[32];
  snprintf(tag, sizeof tag, "%lu", ++tags);
  pn_delivery_t *delivery = pn_delivery(link->link, pn_dtag(tag, strlen(tag)));
  pn_delivery_set_context(delivery, mark);
  pn_rwbytes_t room = {0, NULL};
  const ssize_t status = pn_message_send(message, link->link, &room);
  free(room.start);
  if (status < 0) {
    pn_delivery_abort(delivery);
    refuse(error("local", pn_code((int)status), here(pn_error_text(pn_message_error(message)))));
  }
  if (settled)
    pn_delivery_settle(delivery);
  return delivery;
}

static json *send_out(json *line, struct endpoint *link, pn_message_t *message) {
  // The library asks its user to settle what is sent on a link that says so.
  const bool settled = truth(member(line, "settled")) || pn_link_snd_settle_mode(link->link) == PN_SND_SETTLED;
  const bool waits = !member(line, "wait") || truth(member(line, "wait"));
  struct sent sent = {link, (int)number(member(line, "count"), 1), NULL};
  sent.deliveries = keep((size_t)sent.count * sizeof *sent.deliveries);
  for (int at = 0; at < sent.count; at++)
    sent.deliveries[at] = put_on_link(link, message, settled ? NULL : waits ? &awaited : &told_later, settled);
  if (settled || !waits) {
    flush(link->of);
    if (settled)
      return one("outcome", NULL);
    const pn_delivery_tag_t tag = pn_delivery_tag(sent.deliveries[sent.count - 1]);
    return one("tag", json_object_new_string_len(tag.start, (int)tag.size));
  }
  const bool is = pump(link->of, link, has_outcomes, &sent, now() + number(member(line, "within"), 5));
  const char *outcome = NULL;
  for (int at = 0; at < sent.count; at++) {
    // Nobody waits any more: what has an outcome is settled, what has none will be when it comes.
    pn_delivery_set_context(sent.deliveries[at], NULL);
    outcome = outcome_of(sent.deliveries[at]);
    if (outcome || pn_delivery_settled(sent.deliveries[at]))
      pn_delivery_settle(sent.deliveries[at]);
  }
  if (!is)
    refuse_why(link->of, link);
  flush(link->of);
  return one("outcome", outcome ? json_object_new_string(outcome) : NULL);
}

static json *send_it(json *line) {
  struct endpoint *link = link_on(line, true);
  pn_message_t *message = pn_message();
  fill(message, line);
  json *back = send_out(line, link, message);
  pn_message_free(message);
  return back;
}

static json *echo(json *line) {
  struct endpoint *link = link_on(line, true);
  const struct message *message = called(cstring(member(line, "token"), ""));
  return send_out(line, link, message->message);
}

void got(struct endpoint *endpoint, pn_delivery_t *delivery) {
  static int messages;
  struct message *message = calloc(1, sizeof *message);
  const size_t size = pn_delivery_pending(delivery);
  char *octets = malloc(size + 1);
  pn_link_recv(endpoint->link, octets, size);
  message->delivery = delivery;
  pn_delivery_set_context(delivery, &message->delivery);
  message->message = pn_message();
  pn_message_decode(message->message, octets, size);
  free(octets);
  const char *token = name_it(message, "m%d", messages++);
  const pn_delivery_tag_t tag = pn_delivery_tag(delivery);
  pn_link_advance(endpoint->link);
  json *event = with(one("event", json_object_new_string("message")), "on", json_object_new_string(endpoint->name));
  json *hex = told_hex("tag", (struct octets){tag.size, tag.start});
  with(event, "tag", json_object_get(member(hex, "tag")));
  json_object_put(hex);
  happened(with(event, "message", told_message(token, message->message)));
}

static json *settle(json *line) {
  static const struct {
    const char *name;
    uint64_t state;
  } outcomes[] = {{"accept", PN_ACCEPTED}, {"reject", PN_REJECTED}, {"release", PN_RELEASED}, {"modify", PN_MODIFIED}};
  struct endpoint *link = link_on(line, false);
  struct message *message = called(cstring(member(line, "token"), ""));
  const char *outcome = cstring(member(line, "outcome"), "");
  if (truth(member(line, "multiple")))
    unsupported("Proton settles one delivery at a time");
  if (!message->delivery || pn_delivery_link(message->delivery) != link->link)
    refuse(error("local", "", here("it is settled, or came by another link")));
  for (size_t at = 0; at < sizeof outcomes / sizeof *outcomes; at++)
    if (!strcmp(outcomes[at].name, outcome))
      pn_delivery_update(message->delivery, outcomes[at].state);
  // Where the sender settles first, its answer settles it.
  if (pn_link_remote_rcv_settle_mode(link->link) != PN_RCV_SECOND) {
    pn_delivery_settle(message->delivery);
    message->delivery = NULL;
  }
  flush(link->of);
  return NULL;
}

// Time and the end.

struct waiting {
  const char *name;
  size_t count;
};

static bool is_enough(void *about) {
  const struct waiting *waiting = about;
  return events_waiting(waiting->name) >= waiting->count;
}

static json *wait_for(json *line) {
  struct connection *connection = called(cstring(member(line, "on"), ""));
  struct waiting waiting = {connection->name, (size_t)number(member(line, "count"), 1e9)};
  if (!connection->over)
    pump(connection, NULL, is_enough, &waiting, now() + number(member(line, "for"), 0));
  return events(connection->name);
}

static void release(const char *name, void *what) {
  struct connection *connection = what;
  struct endpoint *endpoint = what;
  if (*name == 'm') {
    pn_message_free(((struct message *)what)->message);
  } else if (strchr(name, '/')) {
    json_object_put(endpoint->over);
  } else {
    drop(connection);
    json_object_put(connection->over);
  }
  free(what);
}

static json *reset(json *line) {
  (void)line;
  forget_all(release);
  return NULL;
}

int main(void) {
  return serve((const struct command[]){{"hello", hello},
                                        {"connect", connect_to},
                                        {"open", open_session},
                                        {"attach", attach},
                                        {"send", send_it},
                                        {"echo", echo},
                                        {"credit", credit},
                                        {"drain", drain},
                                        {"settle", settle},
                                        {"wait", wait_for},
                                        {"detach", detach},
                                        {"close", close_it},
                                        {"reset", reset},
                                        {NULL, NULL}});
}
