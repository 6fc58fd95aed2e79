// rabbitmq-c as a shim. The library leaves it to its user to know which channels are open, and to answer to a close.
#include "connection.h"
#include "values.h"

#include <string.h>

static json *hello(json *line) {
  (void)line;
  json *said = with(json_object_new_object(), "contract", json_object_new_int(1));
  with(with(said, "library", json_object_new_string("rabbitmq-c")), "version", json_object_new_string(amqp_version()));
  return with(with(said, "language", json_object_new_string("C")), "protocol", json_object_new_string("0-9-1"));
}

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
