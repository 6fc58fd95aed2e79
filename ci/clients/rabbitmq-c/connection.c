#include "connection.h"
#include "values.h"

#include <stdio.h>

struct timeval span(double seconds) {
  const long whole = (long)seconds;
  return (struct timeval){whole, (long)((seconds - (double)whole) * 1e6)};
}

void drop(struct connection *connection) {
  if (connection->state)
    amqp_destroy_connection(connection->state);
  connection->state = NULL;
}

static json *closed(const char *native, const char *level, int code, amqp_bytes_t text) {
  json *said = with(error("closed", native, octets(text)), "level", json_object_new_string(level));
  return with(said, "code", json_object_new_int(code));
}

// A close, which the user answers; what it ended remembers it.
json *closing(struct connection *connection, amqp_channel_t number, amqp_method_t method) {
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const amqp_channel_close_t *close = method.decoded;
    json *said = closed("AMQP_CHANNEL_CLOSE_METHOD", "channel", close->reply_code, close->reply_text);
    amqp_send_method(connection->state, number, AMQP_CHANNEL_CLOSE_OK_METHOD, &(amqp_channel_close_ok_t){0});
    char name[48];
    snprintf(name, sizeof name, "%s/%d", connection->name, number);
    struct channel *channel = found(name);
    if (channel && !channel->over)
      channel->over = json_object_get(said);
    return said;
  }
  const amqp_connection_close_t *close = method.decoded;
  json *said = closed("AMQP_CONNECTION_CLOSE_METHOD", "connection", close->reply_code, close->reply_text);
  amqp_send_method(connection->state, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &(amqp_connection_close_ok_t){0});
  drop(connection);
  connection->over = json_object_get(said);
  return said;
}

// A status of the library's. Most say that the connection is of no more use.
json *failing(struct connection *connection, int status) {
  const bool timeout = status == AMQP_STATUS_TIMEOUT || gave_up();
  const bool lost = status == AMQP_STATUS_CONNECTION_CLOSED || status == AMQP_STATUS_SOCKET_ERROR ||
                    status == AMQP_STATUS_SOCKET_CLOSED || status == AMQP_STATUS_TCP_ERROR ||
                    status == AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED;
  char native[32];
  snprintf(native, sizeof native, "amqp_status_enum -0x%04x", -status);
  json *said = error(timeout ? "timeout" : lost ? "lost" : "local", native, here(amqp_error_string2(status)));
  if (!timeout && (lost || status == AMQP_STATUS_BAD_AMQP_DATA || status == AMQP_STATUS_UNKNOWN_METHOD ||
                   status == AMQP_STATUS_UNKNOWN_CLASS || status == AMQP_STATUS_HEARTBEAT_TIMEOUT)) {
    drop(connection);
    connection->over = json_object_get(said);
  }
  return said;
}

json *why(struct connection *connection, amqp_channel_t number, amqp_rpc_reply_t reply) {
  return reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION ? closing(connection, number, reply.reply)
                                                            : failing(connection, reply.library_error);
}

void check(struct connection *connection, amqp_channel_t number, amqp_rpc_reply_t reply) {
  if (reply.reply_type != AMQP_RESPONSE_NORMAL)
    refuse(why(connection, number, reply));
}

void check_status(struct connection *connection, int status) {
  if (status != AMQP_STATUS_OK)
    refuse(failing(connection, status));
}

void arm(struct connection *connection, double seconds, double within) {
  const struct timeval patience = span(within);
  amqp_set_rpc_timeout(connection->state, &patience);
  amqp_set_handshake_timeout(connection->state, &patience);
  give_up_after(seconds + 1.2 * within, amqp_get_sockfd(connection->state));
}

struct connection *connection_of(json *line, double more) {
  struct connection *connection = called(cstring(member(line, "on"), ""));
  if (connection->over)
    refuse(json_object_get(connection->over));
  arm(connection, more, number(member(line, "within"), 5));
  return connection;
}

struct channel *channel_of(json *line) {
  struct channel *channel = called(cstring(member(line, "on"), ""));
  json *over = channel->of->over ? channel->of->over : channel->over;
  if (over)
    refuse(json_object_get(over));
  arm(channel->of, 0, number(member(line, "within"), 5));
  amqp_maybe_release_buffers(channel->of->state);
  return channel;
}
