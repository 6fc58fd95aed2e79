// rabbitmq-c as a shim. The library leaves it to its user to know which channels are open, and to answer to a close.
#include "connection.h"
#include "values.h"

#include <amqp_tcp_socket.h>
#include <stdlib.h>
#include <string.h>

static json *hello(json *line) {
  (void)line;
  json *said = with(json_object_new_object(), "contract", json_object_new_int(1));
  with(with(said, "library", json_object_new_string("rabbitmq-c")), "version", json_object_new_string(amqp_version()));
  return with(with(said, "language", json_object_new_string("C")), "protocol", json_object_new_string("0-9-1"));
}

// Connections and channels.

static json *on(const char *name) { return one("on", json_object_new_string(name)); }

static json *connect_to(json *line) {
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

static json *open_channel(json *line) {
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

static json *close_it(json *line) {
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

static json *reset(json *line) {
  (void)line;
  forget_all(release);
  return NULL;
}

// Methods.

static json *call(json *line) {
  struct channel *channel = channel_of(line);
  const struct method *asked = method(cstring(member(line, "method"), ""));
  json *args = member(line, "args");
  void *told = keep(sizeof(amqp_exchange_declare_t));
  arguments(told, asked, args);
  if (!asked->answer || truth(member(args, "no-wait"))) {
    check_status(channel->of, amqp_send_method(channel->of->state, channel->number, asked->number, told));
    return told_reply(asked, NULL);
  }
  amqp_method_number_t expected[] = {asked->answer, 0};
  const amqp_rpc_reply_t reply = amqp_simple_rpc(channel->of->state, channel->number, asked->number, expected, told);
  check(channel->of, channel->number, reply);
  return told_reply(asked, reply.reply.decoded);
}

static void publish(struct channel *channel, json *line, const char *exchange,
                    const amqp_basic_properties_t *properties, amqp_bytes_t body) {
  check_status(channel->of, amqp_basic_publish(channel->of->state, channel->number, amqp_cstring_bytes(exchange),
                                               bytes(text(member(line, "key"))), truth(member(line, "mandatory")),
                                               truth(member(line, "immediate")), properties, body));
}

static json *publish_it(json *line) {
  struct channel *channel = channel_of(line);
  const amqp_basic_properties_t set = properties(member(line, "properties"));
  const amqp_bytes_t octets = bytes(body(member(line, "body")));
  for (int left = (int)number(member(line, "count"), 1); left > 0; left--)
    publish(channel, line, cstring(member(line, "exchange"), ""), &set, octets);
  return NULL;
}

static json *echo(json *line) {
  struct channel *channel = channel_of(line);
  const amqp_envelope_t *envelope = called(cstring(member(line, "token"), ""));
  publish(channel, line, "", &envelope->message.properties, envelope->message.body);
  return NULL;
}

static json *get(json *line) {
  struct channel *channel = channel_of(line);
  const amqp_rpc_reply_t reply = amqp_basic_get(channel->of->state, channel->number, bytes(text(member(line, "queue"))),
                                                truth(member(line, "settled")));
  check(channel->of, channel->number, reply);
  if (reply.reply.id != AMQP_BASIC_GET_OK_METHOD)
    return one("message", NULL);
  const amqp_basic_get_ok_t *got = reply.reply.decoded;
  amqp_envelope_t envelope = {
      .delivery_tag = got->delivery_tag,
      .redelivered = got->redelivered,
      .exchange = amqp_bytes_malloc_dup(got->exchange),
      .routing_key = amqp_bytes_malloc_dup(got->routing_key),
  };
  check(channel->of, channel->number, amqp_read_message(channel->of->state, channel->number, &envelope.message, 0));
  return one("message", told_message(&envelope));
}

static json *settle(json *line) {
  struct channel *channel = channel_of(line);
  const char *outcome = cstring(member(line, "outcome"), "");
  const amqp_envelope_t *envelope = called(cstring(member(line, "token"), ""));
  const uint64_t tag = envelope->delivery_tag;
  const bool multiple = truth(member(line, "multiple"));
  if (!strcmp(outcome, "accept"))
    check_status(channel->of, amqp_basic_ack(channel->of->state, channel->number, tag, multiple));
  else if (multiple || !strcmp(outcome, "modify"))
    unsupported("AMQP 0-9-1 has no such outcome as %s%s", outcome, multiple ? " of several" : "");
  else
    check_status(channel->of, amqp_basic_reject(channel->of->state, channel->number, tag, !strcmp(outcome, "release")));
  return NULL;
}

static json *receive(json *line) {
  struct channel *channel = channel_of(line);
  const amqp_basic_consume_ok_t *started =
      amqp_basic_consume(channel->of->state, channel->number, bytes(text(member(line, "queue"))),
                         bytes(text(member(line, "tag"))), 0, truth(member(line, "settled")), 0,
                         table(member(line, "arguments")));
  check(channel->of, channel->number, amqp_get_rpc_reply(channel->of->state));
  return one("tag", told(octets(started->consumer_tag)));
}

static json *stop(json *line) {
  struct channel *channel = channel_of(line);
  amqp_basic_cancel(channel->of->state, channel->number, bytes(text(member(line, "tag"))));
  check(channel->of, channel->number, amqp_get_rpc_reply(channel->of->state));
  return NULL;
}

int main(void) {
  return serve((const struct command[]){{"hello", hello},
                                        {"connect", connect_to},
                                        {"open", open_channel},
                                        {"call", call},
                                        {"send", publish_it},
                                        {"echo", echo},
                                        {"get", get},
                                        {"receive", receive},
                                        {"settle", settle},
                                        {"stop", stop},
                                        {"wait", wait_for},
                                        {"close", close_it},
                                        {"reset", reset},
                                        {NULL, NULL}});
}
