#include "connection.h"

#include <proton/sasl.h>
#include <proton/terminus.h>
#include <proton/transport.h>

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

char awaited, told_later;

// What is over, and why.

static json *closed(const char *level, pn_condition_t *condition) {
  const char *name = pn_condition_get_name(condition), *text = pn_condition_get_description(condition);
  json *said = with(error("closed", "pn_condition_t", here(text ? text : "")), "level", json_object_new_string(level));
  return with(said, "condition", name ? json_object_new_string(name) : NULL);
}

static void tell(const char *event, const char *on, json *error) {
  json *said = with(one("event", json_object_new_string(event)), "on", json_object_new_string(on));
  for (const char **name = (const char *[]){"level", "condition", "text", NULL}; error && *name; name++)
    with(said, *name, json_object_get(member(error, *name)));
  happened(said);
}

static void end(struct connection *connection, json *error) {
  if (connection->over) {
    json_object_put(error);
    return;
  }
  connection->over = error;
  const char *kind = cstring(member(error, "kind"), "");
  if (!strcmp(kind, "closed"))
    tell(kind, connection->name, error);
  else if (!strcmp(kind, "lost"))
    tell(kind, connection->name, NULL);
}

// The peer closed a session or a link; the answer is the user's.
static void end_of(struct endpoint *endpoint, const char *level, pn_condition_t *condition) {
  if (!endpoint || endpoint->over)
    return;
  endpoint->over = closed(level, condition);
  tell("closed", endpoint->name, endpoint->over);
}

// The library gave up, or was refused by SASL.
static void transport_error(struct connection *connection, pn_transport_t *transport) {
  const pn_sasl_outcome_t outcome = pn_sasl_outcome(pn_sasl(transport));
  pn_condition_t *condition = pn_transport_condition(transport);
  const char *text = pn_condition_get_description(condition);
  if (outcome != PN_SASL_NONE && outcome != PN_SASL_OK && pn_sasl_get_mech(pn_sasl(transport)))
    end(connection, closed("connection", condition));
  else
    end(connection, error("local", pn_condition_get_name(condition), here(text ? text : "")));
}

// Events of the library.

const char *outcome_of(pn_delivery_t *delivery) {
  switch (pn_delivery_remote_state(delivery)) {
  case PN_ACCEPTED: return "accepted";
  case PN_REJECTED: return "rejected";
  case PN_RELEASED: return "released";
  case PN_MODIFIED: return "modified";
  default: return NULL;
  }
}

static void delivered(pn_delivery_t *delivery) {
  pn_link_t *link = pn_delivery_link(delivery);
  struct endpoint *endpoint = pn_link_get_context(link);
  if (pn_link_is_receiver(link)) {
    if (pn_delivery_aborted(delivery)) // which the library leaves to its user to forget
      pn_delivery_settle(delivery);
    else if (pn_delivery_readable(delivery) && !pn_delivery_partial(delivery) && pn_link_current(link) == delivery)
      got(endpoint, delivery);
    else if (pn_delivery_settled(delivery) && pn_delivery_local_state(delivery) && pn_delivery_get_context(delivery)) {
      // The sender settles what was left to it to settle first.
      *(pn_delivery_t **)pn_delivery_get_context(delivery) = NULL;
      pn_delivery_settle(delivery);
    }
    return;
  }
  const char *outcome = outcome_of(delivery);
  void *mark = pn_delivery_get_context(delivery);
  if (mark == &awaited || (!outcome && !pn_delivery_settled(delivery)))
    return;
  if (mark == &told_later) {
    const pn_delivery_tag_t tag = pn_delivery_tag(delivery);
    json *event = with(one("event", json_object_new_string("outcome")), "on", json_object_new_string(endpoint->name));
    with(event, "tag", json_object_new_string_len(tag.start, (int)tag.size));
    happened(with(event, "outcome", outcome ? json_object_new_string(outcome) : NULL));
  }
  pn_delivery_settle(delivery);
}

// What the peer begins by itself is answered as the library's handlers for other languages do.
static void begun(pn_session_t *session) {
  if (pn_session_state(session) & PN_LOCAL_UNINIT)
    pn_session_open(session);
}

static void attached(pn_link_t *link) {
  if (!(pn_link_state(link) & PN_LOCAL_UNINIT))
    return;
  pn_terminus_copy(pn_link_source(link), pn_link_remote_source(link));
  pn_terminus_copy(pn_link_target(link), pn_link_remote_target(link));
  pn_link_open(link);
  // One that is asked for without a terminus is refused.
  if (pn_terminus_get_type(pn_link_is_sender(link) ? pn_link_source(link) : pn_link_target(link)) == PN_UNSPECIFIED)
    pn_link_close(link);
}

// That it has nothing more to send is for the user of the library to say, where the peer wants to drain.
static void flowed(pn_link_t *link) {
  if (pn_link_is_sender(link) && pn_link_get_drain(link) && !pn_link_queued(link))
    pn_link_drained(link);
}

static void handle(struct connection *connection, pn_event_t *event) {
  pn_connection_t *whole = connection->driver.connection;
  struct endpoint *endpoint = pn_event_link(event)      ? pn_link_get_context(pn_event_link(event))
                              : pn_event_session(event) ? pn_session_get_context(pn_event_session(event))
                                                        : NULL;
  switch (pn_event_type(event)) {
  case PN_DELIVERY: delivered(pn_event_delivery(event)); break;
  case PN_SESSION_REMOTE_OPEN: begun(pn_event_session(event)); break;
  case PN_LINK_REMOTE_OPEN: attached(pn_event_link(event)); break;
  case PN_LINK_FLOW: flowed(pn_event_link(event)); break;
  case PN_LINK_REMOTE_DETACH:
    if (endpoint)
      endpoint->detached = true;
    if (endpoint && !endpoint->leaving && !endpoint->over) {
      end_of(endpoint, "link", pn_link_remote_condition(pn_event_link(event)));
      pn_link_detach(pn_event_link(event));
    }
    break;
  case PN_LINK_REMOTE_CLOSE:
    if (pn_link_state(pn_event_link(event)) & PN_LOCAL_ACTIVE) {
      end_of(endpoint, "link", pn_link_remote_condition(pn_event_link(event)));
      pn_link_close(pn_event_link(event));
    }
    break;
  case PN_SESSION_REMOTE_CLOSE:
    if (pn_session_state(pn_event_session(event)) & PN_LOCAL_ACTIVE) {
      end_of(endpoint, "session", pn_session_remote_condition(pn_event_session(event)));
      pn_session_close(pn_event_session(event));
    }
    break;
  case PN_CONNECTION_REMOTE_CLOSE:
    if (pn_connection_state(whole) & PN_LOCAL_ACTIVE) {
      end(connection, closed("connection", pn_connection_remote_condition(whole)));
      pn_connection_close(whole);
    }
    break;
  case PN_TRANSPORT_ERROR: transport_error(connection, connection->driver.transport); break;
  default: break;
  }
}

// The socket.

static int64_t milliseconds(void) { return (int64_t)(now() * 1000); }

static void gone(struct connection *connection, const char *why) {
  if (!(pn_connection_state(connection->driver.connection) & PN_REMOTE_CLOSED) &&
      pn_sasl_outcome(pn_sasl(connection->driver.transport)) <= PN_SASL_OK)
    end(connection, error("lost", "", here(why)));
}

static void read_some(struct connection *connection) {
  const pn_rwbytes_t room = pn_connection_driver_read_buffer(&connection->driver);
  if (!room.size)
    return;
  const ssize_t size = recv(connection->socket, room.start, room.size, MSG_DONTWAIT);
  if (size > 0) {
    pn_connection_driver_read_done(&connection->driver, (size_t)size);
  } else if (!size || (errno != EAGAIN && errno != EINTR)) {
    gone(connection, size ? strerror(errno) : "the end of the socket");
    pn_connection_driver_read_close(&connection->driver);
  }
}

static bool write_some(struct connection *connection) {
  const pn_bytes_t left = pn_connection_driver_write_buffer(&connection->driver);
  if (!left.size)
    return false;
  const ssize_t size = send(connection->socket, left.start, left.size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size > 0) {
    pn_connection_driver_write_done(&connection->driver, (size_t)size);
  } else if (errno != EAGAIN && errno != EINTR) {
    gone(connection, strerror(errno));
    pn_connection_driver_write_close(&connection->driver);
  }
  return size > 0;
}

static void take_events(struct connection *connection) {
  for (pn_event_t *event; (event = pn_connection_driver_next_event(&connection->driver));)
    handle(connection, event);
}

static void hang_up(struct connection *connection) {
  if (connection->socket >= 0)
    close(connection->socket);
  connection->socket = -1;
}

void flush(struct connection *connection) {
  take_events(connection);
  while (connection->socket >= 0 && write_some(connection))
    take_events(connection);
  take_events(connection);
  if (connection->over)
    hang_up(connection);
}

json *over(const struct connection *connection, const struct endpoint *endpoint) {
  for (; endpoint; endpoint = endpoint->within)
    if (endpoint->over)
      return endpoint->over;
  return connection->over;
}

bool pump(struct connection *connection, struct endpoint *endpoint, bool (*done)(void *about), void *about,
          double until) {
  for (;;) {
    flush(connection);
    if (over(connection, endpoint) || done(about) || now() >= until)
      return done(about);
    const int64_t next = pn_transport_tick(connection->driver.transport, milliseconds()), soon = milliseconds();
    double patience = (until - now()) * 1000 + 1;
    if (next && (double)(next - soon) < patience)
      patience = next > soon ? (double)(next - soon) : 0;
    const bool reads = pn_connection_driver_read_buffer(&connection->driver).size;
    const bool writes = pn_connection_driver_write_buffer(&connection->driver).size;
    struct pollfd ready = {connection->socket, (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0};
    if (poll(&ready, 1, (int)patience) > 0)
      read_some(connection);
  }
}

_Noreturn void refuse_why(struct connection *connection, struct endpoint *endpoint) {
  json *why = over(connection, endpoint);
  refuse(why ? json_object_get(why) : error("timeout", "", here("no answer came in time")));
}

void await(json *line, struct connection *connection, struct endpoint *endpoint, bool (*done)(void *about),
           void *about) {
  if (!pump(connection, endpoint, done, about, now() + number(member(line, "within"), 5)) ||
      (endpoint && over(connection, endpoint) != connection->over))
    refuse_why(connection, endpoint);
}

void drop(struct connection *connection) {
  hang_up(connection);
  pn_connection_driver_destroy(&connection->driver);
}

int reach(const char *host, const char *port, double within) {
  struct addrinfo *place;
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  const int status = getaddrinfo(host, port, &hints, &place);
  if (status)
    refuse(error("lost", "", here(gai_strerror(status))));
  const int fd = socket(place->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int failure = connect(fd, place->ai_addr, place->ai_addrlen) ? errno : 0;
  freeaddrinfo(place);
  struct pollfd ready = {fd, POLLOUT, 0};
  if (failure == EINPROGRESS && poll(&ready, 1, (int)(within * 1000)) == 0)
    failure = ETIMEDOUT;
  else if (failure == EINPROGRESS)
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &(socklen_t){sizeof failure});
  if (!failure)
    return fd;
  close(fd);
  refuse(error(failure == ETIMEDOUT ? "timeout" : "lost", "", here(strerror(failure))));
}

struct connection *connection_on(json *line) {
  struct connection *connection = called(cstring(member(line, "on"), ""));
  if (connection->over)
    refuse(json_object_get(connection->over));
  return connection;
}

struct endpoint *endpoint_on(json *line) {
  struct endpoint *endpoint = called(cstring(member(line, "on"), ""));
  json *why = over(endpoint->of, endpoint);
  if (why)
    refuse(json_object_get(why));
  return endpoint;
}
