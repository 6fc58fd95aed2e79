// What crosses between the contract and rabbitmq-c.
#ifndef VALUES_H
#define VALUES_H

#include "contract.h"

#include <amqp.h>

// What the library is told. It keeps nothing: all of it lasts for one command.
amqp_bytes_t bytes(struct octets octets);
amqp_table_t table(json *map);
amqp_basic_properties_t properties(json *told);
// The struct of a method that stands at `into`, of these arguments; one it has not is refused.
struct method {
  const char *name;
  amqp_method_number_t number, answer;
  const struct field {
    const char *name;
    enum { BIT, SHORT, LONG, STRING, TABLE } kind;
    size_t offset;
  } * fields, *told;
};
const struct method *method(const char *name);
void arguments(void *into, const struct method *method, json *args);

// What the library tells.
struct octets octets(amqp_bytes_t bytes);
json *told_table(const amqp_table_t *table);
json *told_properties(const amqp_basic_properties_t *properties);
json *told_reply(const struct method *method, void *answer);

#endif
