// A connection of Proton, driven: sockets are ours, all else is the library's.
#ifndef CONNECTION_H
#define CONNECTION_H

#include "contract.h"

#include <proton/connection.h>
#include <proton/connection_driver.h>
#include <proton/delivery.h>
#include <proton/link.h>
#include <proton/session.h>

struct connection {
  pn_connection_driver_t driver;
  const char *name;
  int socket; // -1 once it is gone
  int sessions;
  json *over; // the error that ended it
};

// A session or a link.
struct endpoint {
  struct connection *of;
  const char *name;
  pn_session_t *session;
  pn_link_t *link;
  struct endpoint *within; // of a link, its session
  int links;
  bool leaving, detached;
  json *over;
};

struct message {
  pn_delivery_t *delivery;
  void *message;
};

// The error that ended a connection, or what is given of it.
json *over(const struct connection *connection, const struct endpoint *endpoint);
// Let the library live until `done` says so, one of both is over, or that moment has come. Says whether it is done.
bool pump(struct connection *connection, struct endpoint *endpoint, bool (*done)(void *about), void *about,
          double until);
// The like for a command, which is refused if it is not done, or if what it is about is over.
_Noreturn void refuse_why(struct connection *connection, struct endpoint *endpoint);
void await(json *line, struct connection *connection, struct endpoint *endpoint, bool (*done)(void *about),
           void *about);
// Send what there is to send.
void flush(struct connection *connection);
// Close the socket without a word, and forget what the library holds.
void drop(struct connection *connection);

// What a command is `on`; it is refused by what ended that.
struct connection *connection_on(json *line);
struct endpoint *endpoint_on(json *line);

// A socket to a place, or a refusal.
int reach(const char *host, const char *port, double within);

// What a delivery's state is called, NULL if it is no outcome.
const char *outcome_of(pn_delivery_t *delivery);
// Marks of deliveries that were sent: somebody waits for it, an event is to be told.
extern char awaited, told_later;

// What the handler calls with a message that came whole.
void got(struct endpoint *endpoint, pn_delivery_t *delivery);

// The socket: take or give what there is; one that is gone ends the connection.
void read_some(struct connection *connection);
bool write_some(struct connection *connection);
void hang_up(struct connection *connection);

// Do what an event of the library asks for.
void handle(struct connection *connection, pn_event_t *event);

// What ended something, as an error; a connection owns that which ended it.
json *closed(const char *level, pn_condition_t *condition);
void end(struct connection *connection, json *error);
void end_of(struct endpoint *endpoint, const char *level, pn_condition_t *condition);
void transport_error(struct connection *connection, pn_transport_t *transport);

#endif
