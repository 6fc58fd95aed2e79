// What is done with links, and how they, sessions and connections are left.
#include "commands.h"

#include <string.h>

struct endpoint *link_on(json *line, bool sends) {
  struct endpoint *link = endpoint_on(line);
  if (!link->link || pn_link_is_sender(link->link) != sends)
    refuse(error("local", "", here(sends ? "it is no sender" : "it is no receiver")));
  return link;
}

json *credit(json *line) {
  struct endpoint *link = link_on(line, false);
  pn_link_flow(link->link, (int)number(member(line, "credit"), 0));
  flush(link->of);
  return NULL;
}

static bool is_drained(void *about) { return !pn_link_draining(((struct endpoint *)about)->link); }

json *drain(json *line) {
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

json *detach(json *line) { return leave(line, true); }

json *close_it(json *line) {
  if (strchr(cstring(member(line, "on"), ""), '/'))
    return leave(line, false);
  struct connection *connection = connection_on(line);
  pn_connection_close(connection->driver.connection);
  await(line, connection, NULL, is_disconnected, connection);
  connection->over = error("local", "", here("it is closed"));
  flush(connection);
  return NULL;
}
