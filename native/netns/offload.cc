#include "netns/offload.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"
#include "netns/socket_address.h"

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

bool Ask(const SocketAddress& from, const SocketAddress& to, int timeoutMs) {
  const Fd socket(::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) ThrowErrno("open a socket");
  if (bind(socket.get(), from.get(), from.length) != 0) ThrowErrno("bind");
  if (connect(socket.get(), to.get(), to.length) != 0) ThrowErrno("connect");
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

void WriteTxChecksum(const NetNs& netns, const std::string& device, bool on) {
  Ethtool(netns, device, ETHTOOL_STXCSUM, on ? 1 : 0);
}

bool IsDatagramRefused(const NetNs& netns, const std::string& from, const std::string& to, int timeoutMs) {
  const auto source = SocketAddress::Read(from, 0), target = SocketAddress::Read(to, kClosedPort);
  NeedOneFamily(source, target);
  bool refused = false;
  netns.Run([&] { refused = Ask(source, target, timeoutMs); });
  return refused;
}

}  // namespace trellis
