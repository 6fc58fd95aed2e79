#include "values.h"

#include <string.h>

// Methods, for the library's one function that asks any of them.

#define FIELD(of, name, kind, field)                                                                                   \
  { name, kind, offsetof(amqp_##of##_t, field) }
#define END                                                                                                            \
  { NULL, BIT, 0 }
#define FIELDS (const struct field[])
#define METHOD(name, NAME) name, AMQP_##NAME##_METHOD, AMQP_##NAME##_OK_METHOD
#define NOTHING                                                                                                        \
  FIELDS { END }
static const struct method methods[] = {
    {METHOD("exchange.declare", EXCHANGE_DECLARE),
     FIELDS{FIELD(exchange_declare, "exchange", STRING, exchange), FIELD(exchange_declare, "type", STRING, type),
            FIELD(exchange_declare, "passive", BIT, passive), FIELD(exchange_declare, "durable", BIT, durable),
            FIELD(exchange_declare, "auto-delete", BIT, auto_delete),
            FIELD(exchange_declare, "internal", BIT, internal), FIELD(exchange_declare, "no-wait", BIT, nowait),
            FIELD(exchange_declare, "arguments", TABLE, arguments), END},
     NOTHING},
    {METHOD("exchange.delete", EXCHANGE_DELETE),
     FIELDS{FIELD(exchange_delete, "exchange", STRING, exchange), FIELD(exchange_delete, "if-unused", BIT, if_unused),
            FIELD(exchange_delete, "no-wait", BIT, nowait), END},
     NOTHING},
    {METHOD("queue.declare", QUEUE_DECLARE),
     FIELDS{FIELD(queue_declare, "queue", STRING, queue), FIELD(queue_declare, "passive", BIT, passive),
            FIELD(queue_declare, "durable", BIT, durable), FIELD(queue_declare, "exclusive", BIT, exclusive),
            FIELD(queue_declare, "auto-delete", BIT, auto_delete), FIELD(queue_declare, "no-wait", BIT, nowait),
            FIELD(queue_declare, "arguments", TABLE, arguments), END},
     FIELDS{FIELD(queue_declare_ok, "queue", STRING, queue),
            FIELD(queue_declare_ok, "message-count", LONG, message_count),
            FIELD(queue_declare_ok, "consumer-count", LONG, consumer_count), END}},
    {METHOD("queue.bind", QUEUE_BIND),
     FIELDS{FIELD(queue_bind, "queue", STRING, queue), FIELD(queue_bind, "exchange", STRING, exchange),
            FIELD(queue_bind, "routing-key", STRING, routing_key), FIELD(queue_bind, "no-wait", BIT, nowait),
            FIELD(queue_bind, "arguments", TABLE, arguments), END},
     NOTHING},
    {METHOD("queue.unbind", QUEUE_UNBIND),
     FIELDS{FIELD(queue_unbind, "queue", STRING, queue), FIELD(queue_unbind, "exchange", STRING, exchange),
            FIELD(queue_unbind, "routing-key", STRING, routing_key), FIELD(queue_unbind, "arguments", TABLE, arguments),
            END},
     NOTHING},
    {METHOD("queue.purge", QUEUE_PURGE),
     FIELDS{FIELD(queue_purge, "queue", STRING, queue), FIELD(queue_purge, "no-wait", BIT, nowait), END},
     FIELDS{FIELD(queue_purge_ok, "message-count", LONG, message_count), END}},
    {METHOD("queue.delete", QUEUE_DELETE),
     FIELDS{FIELD(queue_delete, "queue", STRING, queue), FIELD(queue_delete, "if-unused", BIT, if_unused),
            FIELD(queue_delete, "if-empty", BIT, if_empty), FIELD(queue_delete, "no-wait", BIT, nowait), END},
     FIELDS{FIELD(queue_delete_ok, "message-count", LONG, message_count), END}},
    {METHOD("basic.qos", BASIC_QOS),
     FIELDS{FIELD(basic_qos, "prefetch-size", LONG, prefetch_size),
            FIELD(basic_qos, "prefetch-count", SHORT, prefetch_count), FIELD(basic_qos, "global", BIT, global), END},
     NOTHING},
    {METHOD("basic.recover", BASIC_RECOVER), FIELDS{FIELD(basic_recover, "requeue", BIT, requeue), END}, NOTHING},
    {"basic.recover-async", AMQP_BASIC_RECOVER_ASYNC_METHOD, 0,
     FIELDS{FIELD(basic_recover_async, "requeue", BIT, requeue), END}, NOTHING},
    {METHOD("channel.flow", CHANNEL_FLOW), FIELDS{FIELD(channel_flow, "active", BIT, active), END},
     FIELDS{FIELD(channel_flow_ok, "active", BIT, active), END}},
    {METHOD("tx.select", TX_SELECT), NOTHING, NOTHING},
    {METHOD("tx.commit", TX_COMMIT), NOTHING, NOTHING},
    {METHOD("tx.rollback", TX_ROLLBACK), NOTHING, NOTHING},
};

const struct method *method(const char *name) {
  for (size_t at = 0; at < sizeof methods / sizeof *methods; at++)
    if (!strcmp(methods[at].name, name))
      return &methods[at];
  unsupported("rabbitmq-c has no function for %s", name);
}

void arguments(void *into, const struct method *method, json *args) {
  json_object_object_foreach(args ? args : json_object_new_object(), name, value) {
    const struct field *field = method->fields;
    while (field->name && strcmp(field->name, name))
      field++;
    void *at = (char *)into + field->offset;
    if (!field->name)
      unsupported("%s of rabbitmq-c has no argument %s", method->name, name);
    else if (field->kind == BIT)
      *(amqp_boolean_t *)at = truth(value);
    else if (field->kind == SHORT)
      *(uint16_t *)at = (uint16_t)whole(value, 0, UINT16_MAX);
    else if (field->kind == LONG)
      *(uint32_t *)at = (uint32_t)whole(value, 0, UINT32_MAX);
    else if (field->kind == STRING)
      *(amqp_bytes_t *)at = bytes(text(value));
    else
      *(amqp_table_t *)at = table(value);
  }
}

json *told_reply(const struct method *method, void *answer) {
  json *reply = json_object_new_object();
  for (const struct field *field = method->told; answer && field->name; field++) {
    void *at = (char *)answer + field->offset;
    if (field->kind == STRING)
      with(reply, field->name, told(octets(*(amqp_bytes_t *)at)));
    else if (field->kind == BIT)
      with(reply, field->name, json_object_new_boolean(*(amqp_boolean_t *)at));
    else
      with(reply, field->name, json_object_new_int64(*(uint32_t *)at));
  }
  return one("reply", reply);
}
