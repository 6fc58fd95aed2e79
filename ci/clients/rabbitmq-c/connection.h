// Connections and channels of rabbitmq-c, and what goes wrong with them.
#ifndef CONNECTION_H
#define CONNECTION_H

#include "contract.h"

#include <amqp.h>
#include <sys/time.h>

struct connection {
  amqp_connection_state_t state; // NULL once it is gone
  const char *name;
  int channels;
  json *over; // the error that ended it
};

struct channel {
  struct connection *of;
  const char *name;
  amqp_channel_t number;
  json *over;
};

struct timeval span(double seconds);
// Close the socket without a word.
void drop(struct connection *connection);
// What is wrong, as an error; a close is answered, which the library leaves to its user.
json *failing(struct connection *connection, int status);
json *why(struct connection *connection, amqp_channel_t number, amqp_rpc_reply_t reply);
json *closing(struct connection *connection, amqp_channel_t number, amqp_method_t method);
// Refuse, if something is wrong.
void check(struct connection *connection, amqp_channel_t number, amqp_rpc_reply_t reply);
void check_status(struct connection *connection, int status);

// Give the library `within` seconds for each thing it waits for, and `more` and a little in all.
void arm(struct connection *connection, double more, double within);
// What a command is `on`; it is refused by what ended that.
struct connection *connection_of(json *line, double more);
struct channel *channel_of(json *line);

// Commands: a connection or a channel is opened, closed; all are forgotten.
json *connect_to(json *line);
json *open_channel(json *line);
json *close_it(json *line);
json *reset(json *line);

// A message by its token, which owns what the envelope holds; and what happens while the library waits.
json *told_message(const amqp_envelope_t *envelope);
json *wait_for(json *line);

#endif
