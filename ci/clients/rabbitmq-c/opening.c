// How connections and channels are opened, closed and forgotten.
#include "connection.h"

#include <amqp_tcp_socket.h>
#include <stdlib.h>
#include <string.h>

static json *on(const char *name) { return one("on", json_object_new_string(name)); }

json *connect_to(json *line) {
  static int connections;
  const char *mechanism = cstring(member(line, "mechanism"), "PLAIN");
  if (strcmp(mechanism, "PLAIN") && strcmp(mechanism, "EXTERNAL"))
    unsupported("rabbitmq-c has no mechanism %s", mechanism);
  struct connection *connection = calloc(1, sizeof *connection);
  connection->state = amqp_new_connection();
  connection->name = name_it(connection, "c%d", connections++);
  const double within = number(member(line, "within"), 5);
  const struct timeval patience = span(within);
  amqp_socket_t *socket = amqp_tcp_socket_new(connection->state);
  check_status(connection, amqp_socket_open_noblock(socket, cstring(member(line, "host"), ""),
                                                    (int)number(member(line, "port"), 0), &patience));
  arm(connection, 0, within);
  const char *user = cstring(member(line, "user"), ""), *vhost = cstring(member(line, "vhost"), "/");
  const int channel_max = (int)number(member(line, "channel_max"), AMQP_DEFAULT_MAX_CHANNELS);
  const int frame_max = (int)number(member(line, "frame_max"), AMQP_DEFAULT_FRAME_SIZE);
  const int heartbeat = (int)number(member(line, "heartbeat"), AMQP_DEFAULT_HEARTBEAT);
  const amqp_rpc_reply_t reply =
      strcmp(mechanism, "PLAIN")
          ? amqp_login(connection->state, vhost, channel_max, frame_max, heartbeat, AMQP_SASL_METHOD_EXTERNAL, user)
          : amqp_login(connection->state, vhost, channel_max, frame_max, heartbeat, AMQP_SASL_METHOD_PLAIN, user,
                       cstring(member(line, "password"), ""));
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
    json *said = why(connection, 0, reply);
    drop(connection);
    refuse(said);
  }
  return on(connection->name);
}

json *open_channel(json *line) {
  struct connection *connection = connection_of(line, 0);
  if (connection->channels >= amqp_get_channel_max(connection->state) && amqp_get_channel_max(connection->state))
    unsupported("rabbitmq-c leaves the numbers of channels to its user");
  struct channel *channel = calloc(1, sizeof *channel);
  channel->of = connection;
  channel->number = (amqp_channel_t)++connection->channels;
  channel->name = name_it(channel, "%s/%d", connection->name, channel->number);
  amqp_channel_open(connection->state, channel->number);
  check(connection, channel->number, amqp_get_rpc_reply(connection->state));
  return on(channel->name);
}

json *close_it(json *line) {
  json **over;
  if (strchr(cstring(member(line, "on"), ""), '/')) {
    struct channel *channel = channel_of(line);
    check(channel->of, channel->number, amqp_channel_close(channel->of->state, channel->number, AMQP_REPLY_SUCCESS));
    over = &channel->over;
  } else {
    struct connection *connection = connection_of(line, 0);
    check(connection, 0, amqp_connection_close(connection->state, AMQP_REPLY_SUCCESS));
    drop(connection);
    over = &connection->over;
  }
  *over = error("local", "", here("it is closed"));
  return NULL;
}

static void release(const char *name, void *what) {
  struct connection *connection = what;
  struct channel *channel = what;
  if (*name == 'm') {
    amqp_destroy_envelope(what);
  } else if (strchr(name, '/')) {
    json_object_put(channel->over);
  } else {
    drop(connection);
    json_object_put(connection->over);
  }
  free(what);
}

json *reset(json *line) {
  (void)line;
  forget_all(release);
  return NULL;
}
