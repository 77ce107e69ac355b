#include "netns/probe.h"

#include <endian.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"
#include "netns/socket_address.h"

namespace trellis {

namespace {

Fd OpenBound(const SocketAddress& from, int type, int protocol) {
  Fd socket(::socket(from.family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!socket) ThrowErrno("open a socket");
  if (bind(socket.get(), from.get(), from.length) != 0) ThrowErrno("bind");
  return socket;
}

bool Waits(const Fd& socket, short events, int timeoutMs) {
  pollfd waiting{socket.get(), events, 0};
  return poll(&waiting, 1, timeoutMs) > 0;
}

// The route to it, or the other side, says no.
bool IsRefusal(int error) {
  return error == ECONNREFUSED || error == ECONNRESET || error == EHOSTUNREACH || error == ENETUNREACH || error == EACCES ||
         error == EPERM || error == ENOPROTOOPT || error == EPROTO;  // it does not know the protocol
}

std::string Outcome(int error, const char* operation) {
  if (error == 0) return "answered";
  if (IsRefusal(error)) return "refused";
  throw KernelError(error, operation);
}

std::string Connect(const SocketAddress& from, const SocketAddress& to, int timeoutMs) {
  const Fd socket = OpenBound(from, SOCK_STREAM, 0);
  const linger reset{1, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  if (connect(socket.get(), to.get(), to.length) == 0) return "answered";
  if (errno != EINPROGRESS) return Outcome(errno, "connect");
  if (!Waits(socket, POLLOUT, timeoutMs)) return "silent";
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == ETIMEDOUT ? "silent" : Outcome(error, "connect");
}

// An empty datagram: what listens there has nothing to misread.
std::string SendDatagram(const SocketAddress& from, const SocketAddress& to, int timeoutMs) {
  const Fd socket = OpenBound(from, SOCK_DGRAM, 0);
  if (connect(socket.get(), to.get(), to.length) != 0) return Outcome(errno, "connect");
  if (send(socket.get(), "", 0, MSG_NOSIGNAL) < 0) return Outcome(errno, "send");
  if (!Waits(socket, POLLIN, timeoutMs)) return "silent";
  char ignored;
  return recv(socket.get(), &ignored, sizeof ignored, 0) >= 0 ? "answered" : Outcome(errno, "receive");
}

constexpr uint32_t kCrc32c = 0x82f63b78;

uint32_t Crc32c(const uint8_t* data, size_t size) {
  uint32_t crc = ~0U;
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrc32c : 0);
  }
  return ~crc;
}

// An INIT by hand: many kernels have no SCTP of their own. RFC 9260, sections 3.1 and 3.3.2.
std::array<uint8_t, 32> InitChunk(in_port_t from, in_port_t to) {
  std::array<uint8_t, 32> packet{};
  const auto put16 = [&](size_t at, uint16_t value) { value = htobe16(value), std::memcpy(&packet[at], &value, sizeof value); };
  const auto put32 = [&](size_t at, uint32_t value) { value = htobe32(value), std::memcpy(&packet[at], &value, sizeof value); };
  put16(0, from);
  put16(2, to);
  packet[12] = 1;         // INIT
  put16(14, 20);          // its length
  put32(16, 0x7e111500);  // the tag that answers carry
  put32(20, 65536);       // receive window
  put16(24, 1);           // streams out
  put16(26, 1);           // streams in
  put32(28, 1);           // first number
  const uint32_t sum = htole32(Crc32c(packet.data(), packet.size()));
  std::memcpy(&packet[8], &sum, sizeof sum);
  return packet;
}

std::string SendInit(const Probe& probe, int timeoutMs) {
  const auto from = SocketAddress::Read(probe.from, 0), to = SocketAddress::Read(probe.to, 0);
  const Fd socket = OpenBound(from, SOCK_RAW, IPPROTO_SCTP);
  // Connected, a raw socket hears of that address alone.
  if (connect(socket.get(), to.get(), to.length) != 0) return Outcome(errno, "connect");
  const auto packet = InitChunk(probe.fromPort, probe.toPort);
  if (send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return Outcome(errno, "send");
  if (!Waits(socket, POLLIN, timeoutMs)) return "silent";
  char ignored;
  return recv(socket.get(), &ignored, sizeof ignored, 0) >= 0 ? "answered" : Outcome(errno, "receive");
}

}  // namespace

std::string SendProbe(const NetNs& netns, const Probe& probe, int timeoutMs) {
  const auto from = SocketAddress::Read(probe.from, probe.fromPort), to = SocketAddress::Read(probe.to, probe.toPort);
  NeedOneFamily(from, to);
  std::string outcome;
  netns.Run([&] {
    if (probe.protocol == "tcp") outcome = Connect(from, to, timeoutMs);
    else if (probe.protocol == "udp") outcome = SendDatagram(from, to, timeoutMs);
    else if (probe.protocol == "sctp") outcome = SendInit(probe, timeoutMs);
    else throw InputError("a probe is of tcp, udp or sctp");
  });
  return outcome;
}

}  // namespace trellis
