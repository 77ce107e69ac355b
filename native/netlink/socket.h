// A netlink socket in one namespace: batches out, outcomes in; whole dumps; event groups.
// Guarantees: every failed message is reported once with the kernel's text; interrupted dumps are restarted.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "netlink/attributes.h"
#include "netlink/message.h"
#include "netns/netns.h"

namespace trellis::netlink {

// The kernel's refusal of one message of a batch.
struct Failure {
  size_t owner;  // the request the message belonged to
  int error;
  std::string text;
  // The refused request as the kernel sent it back, where it did: ipset writes the line that failed into it.
  std::vector<uint8_t> echo = {};
};

// The outcome inside an NLMSG_ERROR message; `error` 0 is an acknowledgement.
struct Acknowledgement {
  int error;
  std::string text;
  Bytes echo = {};  // attributes and header of the refused request, without its nlmsghdr; empty when it was capped
};
Acknowledgement ReadAcknowledgement(const MessageView& message);

class Socket {
 public:
  using OnMessage = std::function<void(const MessageView&)>;

  Socket(int protocol, const NetNs& ns);

  // Sends all messages, as many in one datagram as the buffers allow, and waits until the kernel has done them all.
  // Success is silent: only the last message of a datagram asks for an acknowledgement. `onReply` sees what the
  // kernel answers besides (echoes, GET results).
  std::vector<Failure> Exchange(Batch& batch, const OnMessage& onReply = {});

  // Sends everything as one datagram, as an nf_tables transaction must be: its first message begins it, its last ends it.
  // At least one lies between. A failure of the first is one of the whole.
  std::vector<Failure> Commit(Batch& batch, const OnMessage& onReply = {});

  // Sends one request (the only message of `request`) as a dump and returns its datagrams, complete and consistent.
  std::vector<std::vector<uint8_t>> Dump(Batch& request, const std::string& operation);

  void Join(uint32_t group);
  // Waits for one event datagram; false when `stop` became readable instead. Throws KernelError ENOBUFS when events were lost.
  bool Receive(int stop, const std::function<void(Bytes)>& onDatagram);

  int fd() const { return fd_.get(); }

 private:
  std::vector<Failure> SendRange(Batch& batch, size_t first, size_t last, const OnMessage& onReply);
  std::vector<Failure> ReadOutcome(Batch& batch, uint32_t base, const OnMessage& onReply);
  void Send(const uint8_t* data, size_t size);
  Bytes ReceiveDatagram(int flags = 0);
  bool TryDump(Batch& request, std::vector<std::vector<uint8_t>>& datagrams, const std::string& operation);

  Fd fd_;
  uint32_t sequence_ = 0;
  size_t window_ = 0;  // messages whose refusals surely fit the receive buffer
  size_t sendBuffer_ = 0;
  std::unique_ptr<uint8_t[]> buffer_;  // not cleared: only the pages that answers reach are ever touched
};

}  // namespace trellis::netlink
