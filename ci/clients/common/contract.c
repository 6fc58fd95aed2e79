#include "contract.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// Memory that lasts for one command.

static struct kept {
  struct kept *next;
  max_align_t memory[];
} * kept;

static void *needed(void *memory) {
  if (!memory)
    abort();
  return memory;
}

void *keep(size_t size) {
  struct kept *fresh = needed(calloc(1, sizeof *fresh + size + 1));
  fresh->next = kept;
  kept = fresh;
  return fresh->memory;
}

static void let_go(void) {
  for (struct kept *next; kept; kept = next) {
    next = kept->next;
    free(kept);
  }
}

// Lines and answers.

static jmp_buf leaving;
static json *refusal;

_Noreturn void refuse(json *error) {
  refusal = error;
  longjmp(leaving, 1);
}

_Noreturn void unsupported(const char *format, ...) {
  char said[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(said, sizeof said, format, arguments);
  va_end(arguments);
  refuse(error("unsupported", "", here(said)));
}

json *error(const char *kind, const char *native, struct octets text) {
  json *said = with(json_object_new_object(), "kind", json_object_new_string(kind));
  return with(with(said, "native", json_object_new_string(native)), "text", told_text(text));
}

static void answer(json *id, const char *how, json *what) {
  json *line = with(with(json_object_new_object(), "id", json_object_get(id)), how, what);
  puts(json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
  fflush(stdout);
  json_object_put(line);
}

static void carry_out(const struct command *commands, json *line) {
  if (setjmp(leaving)) {
    answer(member(line, "id"), "error", refusal);
    return;
  }
  const char *wanted = cstring(member(line, "do"), "");
  const struct command *found = commands;
  while (found->name && strcmp(found->name, wanted))
    found++;
  if (!found->name)
    refuse(error("unknown", "", here(wanted)));
  json *back = found->run(line);
  answer(member(line, "id"), "ok", back ? back : json_object_new_object());
}

int serve(const struct command *commands) {
  signal(SIGPIPE, SIG_IGN);
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0) {
    json *told = json_tokener_parse(line);
    carry_out(commands, told);
    give_up_after(0, -1);
    json_object_put(told);
    let_go();
  }
  _exit(0);
}

// What is told back.

json *with(json *object, const char *name, json *value) {
  json_object_object_add(object, name, value);
  return object;
}

json *one(const char *key, json *value) { return with(json_object_new_object(), key, value); }

// How many octets the character at `at` has in UTF-8, 0 where there is none.
static size_t character(const unsigned char *at, size_t left) {
  static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t size = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
  if (size < 2 || size > left)
    return size > left ? 0 : size;
  unsigned point = *at & (0xFF >> (size + 1));
  for (size_t index = 1; index < size; index++) {
    if (at[index] >> 6 != 2)
      return 0;
    point = point << 6 | (at[index] & 0x3F);
  }
  return point < least[size] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000) ? 0 : size;
}

static bool is_utf8(struct octets octets) {
  for (size_t at = 0, step; at < octets.size; at += step)
    if (!(step = character((const unsigned char *)octets.at + at, octets.size - at)))
      return false;
  return true;
}

json *told_text(struct octets octets) {
  char *legal = keep(octets.size);
  if (octets.size)
    memcpy(legal, octets.at, octets.size);
  for (size_t at = 0, step; at < octets.size; at += step ? step : 1)
    if (!(step = character((const unsigned char *)octets.at + at, octets.size - at)))
      legal[at] = '?';
  return json_object_new_string_len(legal, (int)octets.size);
}

json *told(struct octets octets) { return is_utf8(octets) ? told_text(octets) : told_hex("bin", octets); }

json *told_whole(const char *key, long long value) {
  char digits[32];
  snprintf(digits, sizeof digits, "%lld", value);
  return one(key, json_object_new_string(digits));
}

json *told_unsigned(const char *key, unsigned long long value) {
  char digits[32];
  snprintf(digits, sizeof digits, "%llu", value);
  return one(key, json_object_new_string(digits));
}

json *told_bits(const char *key, uint64_t bits, int digits) {
  char said[32];
  snprintf(said, sizeof said, "%0*llx", digits, (unsigned long long)bits);
  return one(key, json_object_new_string(said));
}

json *told_hex(const char *key, struct octets octets) {
  char *said = keep(2 * octets.size);
  for (size_t at = 0; at < octets.size; at++)
    snprintf(said + 2 * at, 3, "%02x", (unsigned char)octets.at[at]);
  return one(key, json_object_new_string(said));
}

// What a line says.

json *member(json *of, const char *name) {
  json *found = NULL;
  json_object_object_get_ex(of, name, &found);
  return found;
}

struct octets text(json *value) {
  const char *at = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
  return at ? (struct octets){(size_t)json_object_get_string_len(value), at} : (struct octets){0, ""};
}

const char *cstring(json *value, const char *otherwise) { return value ? json_object_get_string(value) : otherwise; }

double number(json *value, double otherwise) { return value ? json_object_get_double(value) : otherwise; }

bool truth(json *value) { return value && json_object_get_boolean(value); }

const char *typed(json *value, json **held) {
  *held = value;
  switch (json_object_get_type(value)) {
  case json_type_null:
    return "null";
  case json_type_boolean:
    return "bool";
  case json_type_string:
    return "text";
  case json_type_object:
    json_object_object_foreach(value, key, under) {
      *held = under;
      return key;
    }
  // fall through
  default:
    return "number";
  }
}

_Noreturn static void no_number(json *held) {
  char said[128];
  snprintf(said, sizeof said, "%.100s is out of range", cstring(held, "null"));
  refuse(error("local", "", here(said)));
}

long long whole(json *held, long long least, long long most) {
  errno = 0;
  long long value = strtoll(cstring(held, "?"), NULL, 10);
  if (errno || value < least || value > most)
    no_number(held);
  return value;
}

unsigned long long whole_unsigned(json *held, unsigned long long most) {
  errno = 0;
  const char *digits = cstring(held, "?");
  unsigned long long value = strtoull(digits, NULL, 10);
  if (errno || *digits == '-' || value > most)
    no_number(held);
  return value;
}

uint64_t bits(json *held) { return strtoull(cstring(held, "0"), NULL, 16); }

struct octets hex(json *held) {
  struct octets digits = text(held);
  char *octets = keep(digits.size / 2);
  for (size_t at = 0; at + 1 < digits.size; at += 2) {
    const char pair[3] = {digits.at[at], digits.at[at + 1]};
    octets[at / 2] = (char)strtoul(pair, NULL, 16);
  }
  return (struct octets){digits.size / 2, octets};
}

struct octets body(json *told) {
  json *fill = json_object_is_type(told, json_type_object) ? member(told, "fill") : NULL;
  if (!fill)
    return text(told);
  size_t size = (size_t)json_object_get_int64(fill);
  char *octets = keep(size);
  for (size_t at = 0; at < size; at++)
    octets[at] = (char)(at % 251);
  return (struct octets){size, octets};
}

static uint32_t crc32(struct octets octets) {
  uint32_t crc = ~0U;
  for (size_t at = 0; at < octets.size; at++) {
    crc ^= (unsigned char)octets.at[at];
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0xEDB88320U : crc >> 1;
  }
  return ~crc;
}

json *told_body(json *message, struct octets body) {
  with(message, "size", json_object_new_int64((int64_t)body.size));
  with(message, "crc32", json_object_new_int64(crc32(body)));
  return body.size <= 1024 && is_utf8(body) ? with(message, "text", told_text(body)) : message;
}

// Names.

static struct named {
  struct named *next;
  void *what;
  char name[48];
} * names;

const char *name_it(void *what, const char *format, ...) {
  struct named *fresh = needed(calloc(1, sizeof *fresh));
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fresh->name, sizeof fresh->name, format, arguments);
  va_end(arguments);
  fresh->what = what;
  fresh->next = names;
  names = fresh;
  return fresh->name;
}

void *found(const char *name) {
  struct named *each = names;
  while (each && strcmp(each->name, name))
    each = each->next;
  return each ? each->what : NULL;
}

void *called(const char *name) {
  void *what = found(name);
  if (what)
    return what;
  char said[128];
  snprintf(said, sizeof said, "nothing is called %.100s", name);
  refuse(error("internal", "", here(said)));
}

static json *queued;

void forget_all(void (*release)(const char *name, void *what)) {
  for (struct named *next; names; names = next) {
    next = names->next;
    release(names->name, names->what);
    free(names);
  }
  json_object_put(queued);
  queued = NULL;
}

// Events.

static bool is_of(json *event, const char *connection) {
  size_t size = strcspn(connection, "/");
  const char *on = cstring(member(event, "on"), "");
  return !strncmp(on, connection, size) && (!on[size] || on[size] == '/');
}

void happened(json *event) {
  if (!queued)
    queued = json_object_new_array();
  json_object_array_add(queued, event);
}

size_t events_waiting(const char *connection) {
  size_t found = 0;
  for (size_t at = 0; queued && at < json_object_array_length(queued); at++)
    found += is_of(json_object_array_get_idx(queued, at), connection);
  return found;
}

json *events(const char *connection) {
  json *given = json_object_new_array(), *left = json_object_new_array();
  for (size_t at = 0; queued && at < json_object_array_length(queued); at++) {
    json *event = json_object_array_get_idx(queued, at);
    json_object_array_add(is_of(event, connection) ? given : left, json_object_get(event));
  }
  json_object_put(queued);
  queued = left;
  return one("events", given);
}

// Time.

double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static volatile sig_atomic_t watched = -1, shut;

static void shut_down(int signal) {
  (void)signal;
  shut = 1;
  if (watched >= 0)
    shutdown(watched, SHUT_RDWR);
}

void give_up_after(double seconds, int socket) {
  double whole;
  const long part = (long)(modf(seconds, &whole) * 1e6);
  const struct itimerval once = {.it_value = {(time_t)whole, part}};
  if (seconds > 0)
    shut = 0;
  watched = socket;
  const struct sigaction act = {.sa_handler = shut_down, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &act, NULL);
  setitimer(ITIMER_REAL, &once, NULL);
}

bool gave_up(void) { return shut; }
