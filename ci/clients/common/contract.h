// What client shims in C share: lines of JSON in and out, refusals, values, names, events. See
// ci/clients/README.md.
#ifndef CONTRACT_H
#define CONTRACT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_object json;

struct octets {
  size_t size;
  const char *at;
};

// A command is told a line, and gives what is told back or refuses.
struct command {
  const char *name;
  json *(*run)(json *told);
};

// Answer stdin line by line up to its end; the last command has no name.
int serve(const struct command *commands);

// Memory that is there, zeroed, until the answer is written.
void *keep(size_t size);

// Answer with an error and leave the command. It owns what it is given.
_Noreturn void refuse(json *error);
_Noreturn void unsupported(const char *format, ...) __attribute__((format(printf, 1, 2)));
// What an error says; what else there is to tell (level, code, condition) is added to it.
json *error(const char *kind, const char *native, struct octets text);

// Objects are made by chains of `with`, which owns the value.
json *with(json *object, const char *name, json *value);
json *told(struct octets octets);      // {"bin": hex} where they are no UTF-8
json *told_text(struct octets octets); // a text all the same
json *told_whole(const char *key, long long value);
json *told_unsigned(const char *key, unsigned long long value);
json *told_bits(const char *key, uint64_t bits, int digits);
json *told_hex(const char *key, struct octets octets);
json *one(const char *key, json *value);

// Members of a line, and what stands for them where they are missing.
json *member(json *of, const char *name);
struct octets text(json *value);
const char *cstring(json *value, const char *otherwise);
double number(json *value, double otherwise);
bool truth(json *value);
static inline struct octets here(const char *text) { return (struct octets){__builtin_strlen(text), text}; }

// A typed value: its key ("i8", "list", …), or "null", "bool", "text", "number"; `held` is what stands under
// it.
const char *typed(json *value, json **held);
long long whole(json *held, long long least, long long most);
unsigned long long whole_unsigned(json *held, unsigned long long most);
uint64_t bits(json *held);
struct octets hex(json *held);
#define EACH(index, list) for (size_t index = 0; index < json_object_array_length(list); index++)

// Bodies: what one is to be, and what is told of one: size, crc32, text.
struct octets body(json *told);
json *told_body(json *message, struct octets body);

// What connections, channels, links and messages are called; a name that stands for nothing is refused.
const char *name_it(void *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *called(const char *name);
void *found(const char *name); // NULL where there is none
void forget_all(void (*release)(const char *name, void *what));

// Events are queued by connection: the beginning of `on`, up to a slash.
void happened(json *event);
size_t events_waiting(const char *connection);
json *events(const char *connection);

double now(void);
// Shut a socket down if the command takes so long; 0 calls it off. Says whether it has been done.
void give_up_after(double seconds, int socket);
bool gave_up(void);

#endif
