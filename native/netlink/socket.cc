#include "netlink/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/error.h"

namespace trellis::netlink {

namespace {

constexpr size_t kReceiveSize = 256 * 1024;
constexpr int kReceiveBuffer = 8 * 1024 * 1024;
constexpr int kSendBuffer = 4 * 1024 * 1024;
constexpr size_t kDatagramSize = 256 * 1024;
// What one refusal with its extended text may occupy in the kernel's accounting.
constexpr size_t kRefusalSize = 2048;
constexpr int kDumpAttempts = 20;
constexpr int kAnswerTimeoutSeconds = 60;

int OptionInt(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  if (getsockopt(fd, SOL_SOCKET, option, &value, &size) != 0) ThrowErrno("read a netlink socket option");
  return value;
}

// The forced form needs CAP_NET_ADMIN over the namespace; the plain one is capped by rmem_max and wmem_max.
void SetBuffer(int fd, int forced, int plain, int size) {
  if (setsockopt(fd, SOL_SOCKET, forced, &size, sizeof size) != 0) setsockopt(fd, SOL_SOCKET, plain, &size, sizeof size);
}

void Enable(int fd, int option) {
  const int on = 1;
  setsockopt(fd, SOL_NETLINK, option, &on, sizeof on);  // each is newer than the oldest kernel we run on; all are optional
}

}  // namespace

Acknowledgement ReadAcknowledgement(const MessageView& message) {
  const auto head = message.Head<nlmsgerr>();
  if (head.error > 0 || head.error == INT_MIN) ThrowMalformed("an error number that is none");
  Acknowledgement ack{-head.error, {}, {}};
  // The request is echoed whole behind the error unless the kernel capped it.
  size_t skip = sizeof(nlmsgerr);
  if ((message.header.nlmsg_flags & NLM_F_CAPPED) == 0 && head.error != 0) {
    const size_t echoed = std::max<size_t>(head.msg.nlmsg_len, sizeof(nlmsghdr)) - sizeof(nlmsghdr);
    ack.echo = message.payload.subspan(skip, std::min(echoed, message.payload.size() - skip));
    skip += NLMSG_ALIGN(echoed);
  }
  if ((message.header.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return ack;
  if (skip >= message.payload.size()) return ack;
  const AttributeTable table(message.payload.subspan(skip));
  if (table.Has(NLMSGERR_ATTR_MSG)) ack.text = ReadString(table.Get(NLMSGERR_ATTR_MSG));
  return ack;
}

Socket::Socket(int protocol, const NetNs& ns) : buffer_(std::make_unique_for_overwrite<uint8_t[]>(kReceiveSize)) {
  ns.Run([&] {
    fd_ = Fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
    if (!fd_) ThrowErrno("open a netlink socket of protocol " + std::to_string(protocol));  // here: errno is this thread's
  });
  Enable(fd_.get(), NETLINK_EXT_ACK);
  Enable(fd_.get(), NETLINK_CAP_ACK);
  if (protocol == NETLINK_ROUTE) Enable(fd_.get(), NETLINK_GET_STRICT_CHK);
  SetBuffer(fd_.get(), SO_RCVBUFFORCE, SO_RCVBUF, kReceiveBuffer);
  SetBuffer(fd_.get(), SO_SNDBUFFORCE, SO_SNDBUF, kSendBuffer);
  const timeval limit{kAnswerTimeoutSeconds, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  window_ = std::max<size_t>(1, OptionInt(fd_.get(), SO_RCVBUF) / kRefusalSize);
  sendBuffer_ = OptionInt(fd_.get(), SO_SNDBUF);
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  if (bind(fd_.get(), reinterpret_cast<sockaddr*>(&local), sizeof local) != 0) ThrowErrno("bind a netlink socket");
}

std::vector<Failure> Socket::Exchange(Batch& batch, const OnMessage& onReply) {
  std::vector<Failure> failures;
  const size_t limit = std::min(kDatagramSize, sendBuffer_ / 2);
  const auto& messages = batch.messages();
  for (size_t first = 0; first < messages.size();) {
    size_t last = first + 1;
    while (last < messages.size() && last - first < window_) {
      const size_t end = last + 1 < messages.size() ? messages[last + 1].offset : batch.size();
      if (end - messages[first].offset > limit) break;
      ++last;
    }
    auto some = SendRange(batch, first, last, onReply);
    std::move(some.begin(), some.end(), std::back_inserter(failures));
    first = last;
  }
  batch.Clear();
  return failures;
}

std::vector<Failure> Socket::Commit(Batch& batch, const OnMessage& onReply) {
  if (batch.size() > sendBuffer_ / 2) {
    SetBuffer(fd_.get(), SO_SNDBUFFORCE, SO_SNDBUF, static_cast<int>(std::min<size_t>(batch.size() * 2, INT32_MAX / 2)));
    sendBuffer_ = OptionInt(fd_.get(), SO_SNDBUF);
  }
  const uint32_t base = sequence_ + 1;
  const auto& messages = batch.messages();
  sequence_ += static_cast<uint32_t>(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) batch.At(i)->nlmsg_seq = base + static_cast<uint32_t>(i);
  // Kernels before 6.9 acknowledge no message that begins or ends a transaction, so the last one inside it is asked.
  batch.At(messages.size() - 2)->nlmsg_flags |= NLM_F_ACK;
  Send(batch.data(), batch.size());
  auto failures = ReadOutcome(batch, base, onReply);
  batch.Clear();
  return failures;
}

// The kernel has answered everything by the time a transaction is sent, so what is not there will not come.
std::vector<Failure> Socket::ReadOutcome(Batch& batch, uint32_t base, const OnMessage& onReply) {
  const auto& messages = batch.messages();
  std::vector<Failure> failures;
  bool overrun = false;
  for (bool done = false; !done;) {
    Bytes datagram;
    try {
      datagram = ReceiveDatagram(overrun ? MSG_DONTWAIT : 0);
    } catch (const KernelError& error) {
      // More refusals than the buffer holds: those that fit are told.
      if (error.error() == ENOBUFS && !overrun) overrun = true;
      else if (overrun && error.error() == ETIMEDOUT && !failures.empty()) break;
      else throw;
      continue;
    }
    ForEachMessage(datagram, [&](const MessageView& message) {
      const uint32_t index = message.header.nlmsg_seq - base;
      if (index >= messages.size()) return;
      if (message.header.nlmsg_type != NLMSG_ERROR) {
        if (message.header.nlmsg_type >= NLMSG_MIN_TYPE && onReply) onReply(message);
        return;
      }
      auto ack = ReadAcknowledgement(message);
      if (ack.error != 0) failures.push_back({messages[index].owner, ack.error, std::move(ack.text)});
      // Refused as a whole: nothing more will come.
      if (index == messages.size() - 2 || (index == 0 && ack.error != 0)) done = true;
    });
  }
  return failures;
}

// One datagram: messages first..last-1. The kernel works them off in order, so the answer to the last ends it.
std::vector<Failure> Socket::SendRange(Batch& batch, size_t first, size_t last, const OnMessage& onReply) {
  const auto& messages = batch.messages();
  const uint32_t base = sequence_ + 1;
  sequence_ += static_cast<uint32_t>(last - first);
  for (size_t i = first; i < last; ++i) batch.At(i)->nlmsg_seq = base + static_cast<uint32_t>(i - first);
  batch.At(last - 1)->nlmsg_flags |= NLM_F_ACK;
  const size_t from = messages[first].offset;
  const size_t to = last < messages.size() ? messages[last].offset : batch.size();
  Send(batch.data() + from, to - from);

  std::vector<Failure> failures;
  bool done = false;
  while (!done) {
    ForEachMessage(ReceiveDatagram(), [&](const MessageView& message) {
      const uint32_t index = message.header.nlmsg_seq - base;
      if (index >= last - first) return;  // a late answer to something given up before
      if (message.header.nlmsg_type == NLMSG_ERROR) {
        auto ack = ReadAcknowledgement(message);
        if (ack.error != 0)
          failures.push_back({messages[first + index].owner, ack.error, std::move(ack.text), {ack.echo.begin(), ack.echo.end()}});
        if (index == last - first - 1) done = true;
      } else if (message.header.nlmsg_type >= NLMSG_MIN_TYPE && onReply) {
        onReply(message);
      }
    });
  }
  return failures;
}

std::vector<std::vector<uint8_t>> Socket::Dump(Batch& request, const std::string& operation) {
  std::vector<std::vector<uint8_t>> datagrams;
  for (int attempt = 0; attempt < kDumpAttempts; ++attempt) {
    datagrams.clear();
    if (TryDump(request, datagrams, operation)) return datagrams;
  }
  throw KernelError(EAGAIN, operation, "the table changed faster than it could be read");
}

// False when the kernel says that the table changed under the dump, or answers were lost.
bool Socket::TryDump(Batch& request, std::vector<std::vector<uint8_t>>& datagrams, const std::string& operation) {
  const uint32_t sequence = ++sequence_;
  nlmsghdr* header = request.At(0);
  header->nlmsg_flags |= NLM_F_DUMP;
  header->nlmsg_seq = sequence;
  Send(request.data(), request.size());
  bool interrupted = false;
  bool done = false;
  while (!done) {
    Bytes datagram;
    try {
      datagram = ReceiveDatagram();
    } catch (const KernelError& error) {
      if (error.error() != ENOBUFS) throw;
      interrupted = true;
      continue;
    }
    bool ours = false;
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (message.header.nlmsg_seq != sequence) return;
      if (message.header.nlmsg_flags & NLM_F_DUMP_INTR) interrupted = true;
      if (message.header.nlmsg_type == NLMSG_ERROR) {
        const auto ack = ReadAcknowledgement(message);
        if (ack.error != 0) throw KernelError(ack.error, operation, ack.text);
        done = true;
      } else if (message.header.nlmsg_type == NLMSG_DONE) {
        // The dump's own result stands in the closing message.
        const int result = message.payload.size() >= sizeof(int) ? ReadValue<int>(message.payload) : 0;
        if (result == INT_MIN) ThrowMalformed("an error number that is none");
        if (result < 0 && result != -EINTR) throw KernelError(-result, operation);
        if (result == -EINTR) interrupted = true;
        done = true;
      } else {
        ours = true;
      }
    });
    if (ours) datagrams.emplace_back(datagram.begin(), datagram.end());
  }
  return !interrupted;
}

void Socket::Send(const uint8_t* data, size_t size) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  ssize_t sent;
  do {
    sent = sendto(fd_.get(), data, size, 0, reinterpret_cast<sockaddr*>(&kernel), sizeof kernel);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) ThrowErrno("send " + std::to_string(size) + " bytes to the kernel");
}

Bytes Socket::ReceiveDatagram(int flags) {
  while (true) {
    sockaddr_nl from{};
    iovec slot{buffer_.get(), kReceiveSize};
    msghdr envelope{};
    envelope.msg_name = &from;
    envelope.msg_namelen = sizeof from;
    envelope.msg_iov = &slot;
    envelope.msg_iovlen = 1;
    const ssize_t size = recvmsg(fd_.get(), &envelope, flags);
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN)
        throw KernelError(ETIMEDOUT, "wait for the kernel's answer",
                          "none in " + std::to_string(kAnswerTimeoutSeconds) + " seconds");
      ThrowErrno("read the kernel's answer");
    }
    if (from.nl_pid != 0) continue;  // only the kernel speaks to us
    if (envelope.msg_flags & MSG_TRUNC) throw KernelError(EMSGSIZE, "read the kernel's answer", "a message larger than 256 KiB");
    return {buffer_.get(), static_cast<size_t>(size)};
  }
}

void Socket::Join(uint32_t group) {
  if (setsockopt(fd_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
    ThrowErrno("join netlink group " + std::to_string(group));
}

bool Socket::Receive(int stop, const std::function<void(Bytes)>& onDatagram) {
  pollfd waits[] = {{fd_.get(), POLLIN, 0}, {stop, POLLIN, 0}};
  while (poll(waits, 2, -1) < 0)
    if (errno != EINTR) ThrowErrno("wait for netlink events");
  if (waits[1].revents != 0) return false;
  onDatagram(ReceiveDatagram());
  return true;
}

}  // namespace trellis::netlink
