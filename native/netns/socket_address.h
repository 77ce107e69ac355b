// An address of either family with a port, as sockets take it.
// Guarantees: text that is no address is an InputError.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

namespace trellis {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  static SocketAddress Read(const std::string& text, in_port_t port);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

// Throws an InputError when the two are of two families.
void NeedOneFamily(const SocketAddress& from, const SocketAddress& to);

}  // namespace trellis
