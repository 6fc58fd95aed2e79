// What crosses between the contract and Proton: values and messages.
#ifndef VALUES_H
#define VALUES_H

#include "contract.h"

#include <proton/message.h>

// What a type is called, both ways; one that the library has not is refused.
pn_type_t type_called(const char *name);
const char *name_of(pn_type_t type);

void put(pn_data_t *data, json *value);
json *told_value(pn_data_t *data); // the one that `data` stands at
// Fill a message by what `send` was told.
void fill(pn_message_t *message, json *line);
json *told_message(const char *token, pn_message_t *message);

#endif
