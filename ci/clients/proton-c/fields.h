// Fields of messages, and how the library sets and gets each.
#ifndef FIELDS_H
#define FIELDS_H

#include <proton/message.h>

// Fields that are a text, and those that are a moment.
static const struct {
  const char *name;
  int (*set)(pn_message_t *message, const char *text);
  const char *(*get)(pn_message_t *message);
} texts[] = {
    {"to", pn_message_set_address, pn_message_get_address},
    {"subject", pn_message_set_subject, pn_message_get_subject},
    {"reply-to", pn_message_set_reply_to, pn_message_get_reply_to},
    {"content-type", pn_message_set_content_type, pn_message_get_content_type},
    {"content-encoding", pn_message_set_content_encoding, pn_message_get_content_encoding},
    {"group-id", pn_message_set_group_id, pn_message_get_group_id},
    {"reply-to-group-id", pn_message_set_reply_to_group_id, pn_message_get_reply_to_group_id},
};
static const struct {
  const char *name;
  int (*set)(pn_message_t *message, pn_timestamp_t time);
  pn_timestamp_t (*get)(pn_message_t *message);
} times[] = {
    {"absolute-expiry-time", pn_message_set_expiry_time, pn_message_get_expiry_time},
    {"creation-time", pn_message_set_creation_time, pn_message_get_creation_time},
};
static const struct {
  const char *name;
  pn_data_t *(*of)(pn_message_t *message);
} values[] = {{"message-id", pn_message_id}, {"correlation-id", pn_message_correlation_id}};
#define ALL(at, table) for (size_t at = 0; at < sizeof table / sizeof *table; at++)

#endif
