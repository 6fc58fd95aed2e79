// Events of the library.
#include "connection.h"

#include <proton/terminus.h>

char awaited, told_later;

const char *outcome_of(pn_delivery_t *delivery) {
  switch (pn_delivery_remote_state(delivery)) {
  case PN_ACCEPTED: return "accepted";
  case PN_REJECTED: return "rejected";
  case PN_RELEASED: return "released";
  case PN_MODIFIED: return "modified";
  default: return NULL;
  }
}

static void delivered(pn_delivery_t *delivery) {
  pn_link_t *link = pn_delivery_link(delivery);
  struct endpoint *endpoint = pn_link_get_context(link);
  if (pn_link_is_receiver(link)) {
    if (pn_delivery_aborted(delivery)) // which the library leaves to its user to forget
      pn_delivery_settle(delivery);
    else if (pn_delivery_readable(delivery) && !pn_delivery_partial(delivery) && pn_link_current(link) == delivery)
      got(endpoint, delivery);
    else if (pn_delivery_settled(delivery) && pn_delivery_local_state(delivery) && pn_delivery_get_context(delivery)) {
      // The sender settles what was left to it to settle first.
      *(pn_delivery_t **)pn_delivery_get_context(delivery) = NULL;
      pn_delivery_settle(delivery);
    }
    return;
  }
  const char *outcome = outcome_of(delivery);
  void *mark = pn_delivery_get_context(delivery);
  if (mark == &awaited || (!outcome && !pn_delivery_settled(delivery)))
    return;
  if (mark == &told_later) {
    const pn_delivery_tag_t tag = pn_delivery_tag(delivery);
    json *event = with(one("event", json_object_new_string("outcome")), "on", json_object_new_string(endpoint->name));
    with(event, "tag", json_object_new_string_len(tag.start, (int)tag.size));
    happened(with(event, "outcome", outcome ? json_object_new_string(outcome) : NULL));
  }
  pn_delivery_settle(delivery);
}

// What the peer begins by itself is answered as the library's handlers for other languages do.
static void begun(pn_session_t *session) {
  if (pn_session_state(session) & PN_LOCAL_UNINIT)
    pn_session_open(session);
}

static void attached(pn_link_t *link) {
  if (!(pn_link_state(link) & PN_LOCAL_UNINIT))
    return;
  pn_terminus_copy(pn_link_source(link), pn_link_remote_source(link));
  pn_terminus_copy(pn_link_target(link), pn_link_remote_target(link));
  pn_data_clear(pn_terminus_filter(pn_link_source(link)));  // nobody filters here
  pn_link_open(link);
  // One that is asked for without a terminus is refused.
  if (pn_terminus_get_type(pn_link_is_sender(link) ? pn_link_source(link) : pn_link_target(link)) == PN_UNSPECIFIED)
    pn_link_close(link);
}

// That it has nothing more to send is for the user of the library to say, where the peer wants to drain.
static void flowed(pn_link_t *link) {
  if (pn_link_is_sender(link) && pn_link_get_drain(link) && !pn_link_queued(link))
    pn_link_drained(link);
}

void handle(struct connection *connection, pn_event_t *event) {
  pn_connection_t *whole = connection->driver.connection;
  struct endpoint *endpoint = pn_event_link(event)      ? pn_link_get_context(pn_event_link(event))
                              : pn_event_session(event) ? pn_session_get_context(pn_event_session(event))
                                                        : NULL;
  switch (pn_event_type(event)) {
  case PN_DELIVERY: delivered(pn_event_delivery(event)); break;
  case PN_SESSION_REMOTE_OPEN: begun(pn_event_session(event)); break;
  case PN_LINK_REMOTE_OPEN: attached(pn_event_link(event)); break;
  case PN_LINK_FLOW: flowed(pn_event_link(event)); break;
  case PN_LINK_REMOTE_DETACH:
    if (endpoint)
      endpoint->detached = true;
    if (endpoint && !endpoint->leaving && !endpoint->over) {
      end_of(endpoint, "link", pn_link_remote_condition(pn_event_link(event)));
      pn_link_detach(pn_event_link(event));
    }
    break;
  case PN_LINK_REMOTE_CLOSE:
    if (pn_link_state(pn_event_link(event)) & PN_LOCAL_ACTIVE) {
      end_of(endpoint, "link", pn_link_remote_condition(pn_event_link(event)));
      pn_link_close(pn_event_link(event));
    }
    break;
  case PN_SESSION_REMOTE_CLOSE:
    if (pn_session_state(pn_event_session(event)) & PN_LOCAL_ACTIVE) {
      end_of(endpoint, "session", pn_session_remote_condition(pn_event_session(event)));
      pn_session_close(pn_event_session(event));
    }
    break;
  case PN_CONNECTION_REMOTE_CLOSE:
    if (pn_connection_state(whole) & PN_LOCAL_ACTIVE) {
      end(connection, closed("connection", pn_connection_remote_condition(whole)));
      pn_connection_close(whole);
    }
    break;
  case PN_TRANSPORT_ERROR: transport_error(connection, connection->driver.transport); break;
  default: break;
  }
}
