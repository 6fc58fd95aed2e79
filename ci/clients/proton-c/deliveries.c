// Messages that are sent and what becomes of them; messages that come and how they are settled.
#include "commands.h"
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sent {
  struct endpoint *link;
  int count;
  pn_delivery_t **deliveries;
};

static bool has_outcomes(void *about) {
  const struct sent *sent = about;
  for (int at = 0; at < sent->count; at++)
    if (!outcome_of(sent->deliveries[at]) && !pn_delivery_settled(sent->deliveries[at]))
      return false;
  return true;
}

static pn_delivery_t *put_on_link(struct endpoint *link, pn_message_t *message, void *mark, bool settled) {
  static unsigned long tags;
  char tag[32];
  snprintf(tag, sizeof tag, "%lu", ++tags);
  pn_delivery_t *delivery = pn_delivery(link->link, pn_dtag(tag, strlen(tag)));
  pn_delivery_set_context(delivery, mark);
  pn_rwbytes_t room = {0, NULL};
  const ssize_t status = pn_message_send(message, link->link, &room);
  free(room.start);
  if (status < 0) {
    pn_delivery_abort(delivery);
    refuse(error("local", pn_code((int)status), here(pn_error_text(pn_message_error(message)))));
  }
  if (settled)
    pn_delivery_settle(delivery);
  return delivery;
}

static json *send_out(json *line, struct endpoint *link, pn_message_t *message) {
  // The library asks its user to settle what is sent on a link that says so.
  const bool settled = truth(member(line, "settled")) || pn_link_snd_settle_mode(link->link) == PN_SND_SETTLED;
  const bool waits = !member(line, "wait") || truth(member(line, "wait"));
  struct sent sent = {link, (int)number(member(line, "count"), 1), NULL};
  sent.deliveries = keep((size_t)sent.count * sizeof *sent.deliveries);
  for (int at = 0; at < sent.count; at++)
    sent.deliveries[at] = put_on_link(link, message, settled ? NULL : waits ? &awaited : &told_later, settled);
  if (settled || !waits) {
    flush(link->of);
    if (settled)
      return one("outcome", NULL);
    const pn_delivery_tag_t tag = pn_delivery_tag(sent.deliveries[sent.count - 1]);
    return one("tag", json_object_new_string_len(tag.start, (int)tag.size));
  }
  const bool is = pump(link->of, link, has_outcomes, &sent, now() + number(member(line, "within"), 5));
  const char *outcome = NULL;
  for (int at = 0; at < sent.count; at++) {
    // Nobody waits any more: what has an outcome is settled, what has none will be when it comes.
    pn_delivery_set_context(sent.deliveries[at], NULL);
    outcome = outcome_of(sent.deliveries[at]);
    if (outcome || pn_delivery_settled(sent.deliveries[at]))
      pn_delivery_settle(sent.deliveries[at]);
  }
  if (!is)
    refuse_why(link->of, link);
  flush(link->of);
  return one("outcome", outcome ? json_object_new_string(outcome) : NULL);
}

json *send_it(json *line) {
  struct endpoint *link = link_on(line, true);
  pn_message_t *message = pn_message();
  fill(message, line);
  json *back = send_out(line, link, message);
  pn_message_free(message);
  return back;
}

json *echo(json *line) {
  struct endpoint *link = link_on(line, true);
  const struct message *message = called(cstring(member(line, "token"), ""));
  return send_out(line, link, message->message);
}

void got(struct endpoint *endpoint, pn_delivery_t *delivery) {
  static int messages;
  struct message *message = calloc(1, sizeof *message);
  const size_t size = pn_delivery_pending(delivery);
  char *octets = malloc(size + 1);
  pn_link_recv(endpoint->link, octets, size);
  message->delivery = delivery;
  pn_delivery_set_context(delivery, &message->delivery);
  message->message = pn_message();
  pn_message_decode(message->message, octets, size);
  free(octets);
  const char *token = name_it(message, "m%d", messages++);
  const pn_delivery_tag_t tag = pn_delivery_tag(delivery);
  pn_link_advance(endpoint->link);
  json *event = with(one("event", json_object_new_string("message")), "on", json_object_new_string(endpoint->name));
  json *hex = told_hex("tag", (struct octets){tag.size, tag.start});
  with(event, "tag", json_object_get(member(hex, "tag")));
  json_object_put(hex);
  happened(with(event, "message", told_message(token, message->message)));
}

json *settle(json *line) {
  static const struct {
    const char *name;
    uint64_t state;
  } outcomes[] = {{"accept", PN_ACCEPTED}, {"reject", PN_REJECTED}, {"release", PN_RELEASED}, {"modify", PN_MODIFIED}};
  struct endpoint *link = link_on(line, false);
  struct message *message = called(cstring(member(line, "token"), ""));
  const char *outcome = cstring(member(line, "outcome"), "");
  if (truth(member(line, "multiple")))
    unsupported("Proton settles one delivery at a time");
  if (!message->delivery || pn_delivery_link(message->delivery) != link->link)
    refuse(error("local", "", here("it is settled, or came by another link")));
  for (size_t at = 0; at < sizeof outcomes / sizeof *outcomes; at++)
    if (!strcmp(outcomes[at].name, outcome))
      pn_delivery_update(message->delivery, outcomes[at].state);
  // Where the sender settles first, its answer settles it.
  if (pn_link_remote_rcv_settle_mode(link->link) != PN_RCV_SECOND) {
    pn_delivery_settle(message->delivery);
    message->delivery = NULL;
  }
  flush(link->of);
  return NULL;
}
