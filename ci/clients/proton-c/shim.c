// Qpid Proton C as a shim, by its connection driver.
#include "commands.h"

#include <proton/message.h>
#include <proton/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json *hello(json *line) {
  (void)line;
  // The library does not tell its version when it runs: this is that of its headers.
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", PN_VERSION_MAJOR, PN_VERSION_MINOR, PN_VERSION_POINT);
  json *said = with(json_object_new_object(), "contract", json_object_new_int(1));
  with(with(said, "library", json_object_new_string("proton-c")), "version", json_object_new_string(version));
  return with(with(said, "language", json_object_new_string("C")), "protocol", json_object_new_string("1-0"));
}

struct waiting {
  const char *name;
  size_t count;
};

static bool is_enough(void *about) {
  const struct waiting *waiting = about;
  return events_waiting(waiting->name) >= waiting->count;
}

static json *wait_for(json *line) {
  struct connection *connection = called(cstring(member(line, "on"), ""));
  struct waiting waiting = {connection->name, (size_t)number(member(line, "count"), 1e9)};
  if (!connection->over)
    pump(connection, NULL, is_enough, &waiting, now() + number(member(line, "for"), 0));
  return events(connection->name);
}

static void release(const char *name, void *what) {
  struct connection *connection = what;
  struct endpoint *endpoint = what;
  if (*name == 'm') {
    pn_message_free(((struct message *)what)->message);
  } else if (strchr(name, '/')) {
    json_object_put(endpoint->over);
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

int main(void) {
  return serve((const struct command[]){{"hello", hello},
                                        {"connect", connect_to},
                                        {"open", open_session},
                                        {"attach", attach},
                                        {"send", send_it},
                                        {"echo", echo},
                                        {"credit", credit},
                                        {"drain", drain},
                                        {"settle", settle},
                                        {"wait", wait_for},
                                        {"detach", detach},
                                        {"close", close_it},
                                        {"reset", reset},
                                        {NULL, NULL}});
}
