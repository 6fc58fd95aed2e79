// How a connection is driven.
#include "connection.h"

#include <proton/transport.h>

#include <poll.h>

static int64_t milliseconds(void) { return (int64_t)(now() * 1000); }

static void take_events(struct connection *connection) {
  for (pn_event_t *event; (event = pn_connection_driver_next_event(&connection->driver));)
    handle(connection, event);
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
