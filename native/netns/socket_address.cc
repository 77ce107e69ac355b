#include "netns/socket_address.h"

#include <arpa/inet.h>

#include "base/error.h"

namespace trellis {

SocketAddress SocketAddress::Read(const std::string& text, in_port_t port) {
  SocketAddress address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.length = sizeof *four;
  } else if (inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.length = sizeof *six;
  } else {
    throw InputError("\"" + text + "\" is no address");
  }
  return address;
}

void NeedOneFamily(const SocketAddress& from, const SocketAddress& to) {
  if (from.family() != to.family()) throw InputError("the two addresses are of two families");
}

}  // namespace trellis
