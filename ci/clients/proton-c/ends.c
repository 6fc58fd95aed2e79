// What ends connections, sessions and links, and why.
#include "connection.h"

#include <proton/sasl.h>
#include <proton/transport.h>

#include <string.h>

json *closed(const char *level, pn_condition_t *condition) {
  const char *name = pn_condition_get_name(condition), *text = pn_condition_get_description(condition);
  json *said = with(error("closed", "pn_condition_t", here(text ? text : "")), "level", json_object_new_string(level));
  return with(said, "condition", name ? json_object_new_string(name) : NULL);
}

static void tell(const char *event, const char *on, json *error) {
  json *said = with(one("event", json_object_new_string(event)), "on", json_object_new_string(on));
  for (const char **name = (const char *[]){"level", "condition", "text", NULL}; error && *name; name++)
    with(said, *name, json_object_get(member(error, *name)));
  happened(said);
}

void end(struct connection *connection, json *error) {
  if (connection->over) {
    json_object_put(error);
    return;
  }
  connection->over = error;
  const char *kind = cstring(member(error, "kind"), "");
  if (!strcmp(kind, "closed"))
    tell(kind, connection->name, error);
  else if (!strcmp(kind, "lost"))
    tell(kind, connection->name, NULL);
}

// The peer closed a session or a link; the answer is the user's.
void end_of(struct endpoint *endpoint, const char *level, pn_condition_t *condition) {
  if (!endpoint || endpoint->over)
    return;
  endpoint->over = closed(level, condition);
  tell("closed", endpoint->name, endpoint->over);
}

// The library gave up, or was refused by SASL.
void transport_error(struct connection *connection, pn_transport_t *transport) {
  const pn_sasl_outcome_t outcome = pn_sasl_outcome(pn_sasl(transport));
  pn_condition_t *condition = pn_transport_condition(transport);
  const char *text = pn_condition_get_description(condition);
  if (outcome != PN_SASL_NONE && outcome != PN_SASL_OK && pn_sasl_get_mech(pn_sasl(transport)))
    end(connection, closed("connection", condition));
  else
    end(connection, error("local", pn_condition_get_name(condition), here(text ? text : "")));
}
