#include "netns/offload.h"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"

namespace trellis {

namespace {

// The service "discard": hardly anybody has it, and to nobody does it matter.
constexpr in_port_t kClosedPort = 9;

uint32_t Ethtool(const NetNs& netns, const std::string& device, uint32_t command, uint32_t data) {
  if (device.empty() || device.size() >= IFNAMSIZ) throw InputError("\"" + device + "\" is no name of a device");
  ethtool_value value{};
  value.cmd = command;
  value.data = data;
  netns.Run([&] {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) ThrowErrno("open a socket");
    ifreq request{};
    std::memcpy(request.ifr_name, device.c_str(), device.size() + 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) ThrowErrno("ethtool " + device);
  });
  return value.data;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

Address Read(const std::string& text, in_port_t port) {
  Address address;
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

bool Ask(const Address& from, const Address& to, int timeoutMs) {
  const Fd socket(::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) ThrowErrno("open a socket");
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.length) != 0) ThrowErrno("bind");
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0) ThrowErrno("connect");
  // Of some length: hardware that is wrong may be right about the shortest.
  const char words[] = "Does a datagram arrive whose checksum was left to the hardware?";
  if (send(socket.get(), words, sizeof words, MSG_NOSIGNAL) < 0) return errno == ECONNREFUSED;
  pollfd waiting{socket.get(), POLLIN, 0};
  if (poll(&waiting, 1, timeoutMs) <= 0) return false;
  char ignored;
  return recv(socket.get(), &ignored, sizeof ignored, 0) < 0 && errno == ECONNREFUSED;
}

}  // namespace

bool ReadTxChecksum(const NetNs& netns, const std::string& device) { return Ethtool(netns, device, ETHTOOL_GTXCSUM, 0) != 0; }

void WriteTxChecksum(const NetNs& netns, const std::string& device, bool on) { Ethtool(netns, device, ETHTOOL_STXCSUM, on ? 1 : 0); }

bool IsDatagramRefused(const NetNs& netns, const std::string& from, const std::string& to, int timeoutMs) {
  const Address source = Read(from, 0);
  const Address target = Read(to, kClosedPort);
  if (source.storage.ss_family != target.storage.ss_family) throw InputError(from + " and " + to + " are of two families");
  bool refused = false;
  netns.Run([&] { refused = Ask(source, target, timeoutMs); });
  return refused;
}

}  // namespace trellis
