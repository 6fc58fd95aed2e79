// The socket of a connection.
#include "connection.h"

#include <proton/sasl.h>
#include <proton/transport.h>

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void gone(struct connection *connection, const char *why) {
  if (!(pn_connection_state(connection->driver.connection) & PN_REMOTE_CLOSED) &&
      pn_sasl_outcome(pn_sasl(connection->driver.transport)) <= PN_SASL_OK)
    end(connection, error("lost", "", here(why)));
}

void read_some(struct connection *connection) {
  const pn_rwbytes_t room = pn_connection_driver_read_buffer(&connection->driver);
  if (!room.size)
    return;
  const ssize_t size = recv(connection->socket, room.start, room.size, MSG_DONTWAIT);
  if (size > 0) {
    pn_connection_driver_read_done(&connection->driver, (size_t)size);
  } else if (!size || (errno != EAGAIN && errno != EINTR)) {
    gone(connection, size ? strerror(errno) : "the end of the socket");
    pn_connection_driver_read_close(&connection->driver);
  }
}

bool write_some(struct connection *connection) {
  const pn_bytes_t left = pn_connection_driver_write_buffer(&connection->driver);
  if (!left.size)
    return false;
  const ssize_t size = send(connection->socket, left.start, left.size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size > 0) {
    pn_connection_driver_write_done(&connection->driver, (size_t)size);
  } else if (errno != EAGAIN && errno != EINTR) {
    gone(connection, strerror(errno));
    pn_connection_driver_write_close(&connection->driver);
  }
  return size > 0;
}

void hang_up(struct connection *connection) {
  if (connection->socket >= 0)
    close(connection->socket);
  connection->socket = -1;
}

int reach(const char *host, const char *port, double within) {
  struct addrinfo *place;
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  const int status = getaddrinfo(host, port, &hints, &place);
  if (status)
    refuse(error("lost", "", here(gai_strerror(status))));
  const int fd = socket(place->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int failure = connect(fd, place->ai_addr, place->ai_addrlen) ? errno : 0;
  freeaddrinfo(place);
  struct pollfd ready = {fd, POLLOUT, 0};
  if (failure == EINPROGRESS && poll(&ready, 1, (int)(within * 1000)) == 0)
    failure = ETIMEDOUT;
  else if (failure == EINPROGRESS)
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &(socklen_t){sizeof failure});
  if (!failure)
    return fd;
  close(fd);
  refuse(error(failure == ETIMEDOUT ? "timeout" : "lost", "", here(strerror(failure))));
}
