// Connections, sessions and links: how they are opened.
#include "commands.h"

#include <proton/sasl.h>
#include <proton/terminus.h>
#include <proton/transport.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json *on(const char *name) { return one("on", json_object_new_string(name)); }

static bool is_connected(void *about) {
  const struct connection *connection = about;
  return pn_connection_state(connection->driver.connection) & PN_REMOTE_ACTIVE;
}

json *connect_to(json *line) {
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

json *open_session(json *line) {
  struct connection *connection = connection_on(line);
  struct endpoint *session = endpoint(connection);
  session->session = pn_session(connection->driver.connection);
  session->name = name_it(session, "%s/%d", connection->name, ++connection->sessions);
  pn_session_set_context(session->session, session);
  pn_session_open(session->session);
  await(line, connection, session, is_open, session);
  return on(session->name);
}

json *attach(json *line) {
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
