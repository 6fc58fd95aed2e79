// The commands, each in the file of what it is about.
#ifndef COMMANDS_H
#define COMMANDS_H

#include "connection.h"

json *connect_to(json *line);
json *open_session(json *line);
json *attach(json *line);

json *credit(json *line);
json *drain(json *line);
json *detach(json *line);
json *close_it(json *line);

json *send_it(json *line);
json *echo(json *line);
json *settle(json *line);

// The link that a command is `on`; one that goes the other way is refused.
struct endpoint *link_on(json *line, bool sends);

#endif
