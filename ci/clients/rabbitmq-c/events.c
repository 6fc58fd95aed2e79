#include "connection.h"
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json *told_message(const amqp_envelope_t *envelope) {
  static int messages;
  amqp_envelope_t *kept = malloc(sizeof *kept);
  *kept = *envelope;
  json *message = one("token", json_object_new_string(name_it(kept, "m%d", messages++)));
  told_body(message, octets(envelope->message.body));
  with(message, "properties", told_properties(&envelope->message.properties));
  with(message, "redelivered", json_object_new_boolean(envelope->redelivered));
  with(message, "exchange", told(octets(envelope->exchange)));
  return with(message, "key", told(octets(envelope->routing_key)));
}

static json *event(const char *what, struct connection *connection, amqp_channel_t number) {
  char name[48];
  snprintf(name, sizeof name, number ? "%s/%d" : "%s", connection->name, number);
  return with(one("event", json_object_new_string(what)), "on", json_object_new_string(name));
}

static void tell_close(struct connection *connection, amqp_channel_t number, json *error) {
  const char *kind = cstring(member(error, "kind"), "");
  if (!strcmp(kind, "closed"))
    happened(with(with(with(event(kind, connection, number), "level", json_object_get(member(error, "level"))), "code",
                       json_object_get(member(error, "code"))),
                  "text", json_object_get(member(error, "text"))));
  else if (!strcmp(kind, "lost"))
    happened(event(kind, connection, 0));
  json_object_put(error);
}

// What is no delivery, the library gives as a frame.
static void take_frame(struct connection *connection) {
  amqp_frame_t frame;
  const int status = amqp_simple_wait_frame_noblock(connection->state, &frame, &(struct timeval){0, 0});
  const amqp_method_t method = frame.payload.method;
  if (status != AMQP_STATUS_OK) {
    tell_close(connection, 0, failing(connection, status));
  } else if (frame.frame_type != AMQP_FRAME_METHOD) {
    return;
  } else if (method.id == AMQP_CHANNEL_CLOSE_METHOD || method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    tell_close(connection, frame.channel, closing(connection, frame.channel, method));
  } else if (method.id == AMQP_BASIC_CANCEL_METHOD) {
    const amqp_basic_cancel_t *cancel = method.decoded;
    happened(with(event("cancelled", connection, frame.channel), "tag", told(octets(cancel->consumer_tag))));
  } else if (method.id == AMQP_BASIC_RETURN_METHOD) {
    const amqp_basic_return_t *back = method.decoded;
    amqp_envelope_t envelope = {.exchange = amqp_bytes_malloc_dup(back->exchange),
                                .routing_key = amqp_bytes_malloc_dup(back->routing_key)};
    json *returned = with(event("returned", connection, frame.channel), "code", json_object_new_int(back->reply_code));
    with(returned, "text", told(octets(back->reply_text)));
    const amqp_rpc_reply_t reply = amqp_read_message(connection->state, frame.channel, &envelope.message, 0);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
      happened(with(returned, "message", told_message(&envelope)));
    else
      tell_close(connection, frame.channel, why(connection, frame.channel, reply));
  }
}

json *wait_for(json *line) {
  const double whole = number(member(line, "for"), 0), until = now() + whole;
  const size_t count = (size_t)number(member(line, "count"), 1e9);
  struct connection *connection = called(cstring(member(line, "on"), ""));
  if (!connection->over)
    arm(connection, whole, number(member(line, "within"), 5));
  while (!connection->over && events_waiting(connection->name) < count) {
    const double left = until - now();
    const struct timeval patience = span(left > 0 ? left : 0);
    amqp_envelope_t envelope;
    amqp_maybe_release_buffers(connection->state);
    const amqp_rpc_reply_t reply = amqp_consume_message(connection->state, &envelope, &patience, 0);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
      happened(with(with(event("message", connection, envelope.channel), "tag", told(octets(envelope.consumer_tag))),
                    "message", told_message(&envelope)));
    else if (reply.library_error == AMQP_STATUS_UNEXPECTED_STATE)
      take_frame(connection);
    else if (reply.library_error == AMQP_STATUS_TIMEOUT)
      break;
    else
      tell_close(connection, 0, why(connection, 0, reply));
    if (left < -1)
      break;
  }
  return events(connection->name);
}
