// Follows the events of a netlink family in one namespace on a thread of its own.
// Guarantees: events in the kernel's order; when the kernel had to drop some, one "lost" event says so; Stop() joins.
#pragma once
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "netlink/socket.h"

namespace trellis::netlink {

// Where events come from, and how a datagram of them becomes JSON.
struct EventSource {
  int protocol;
  std::vector<uint32_t> groups;
  // A JSON array of events; empty when the datagram holds none of ours.
  std::function<std::string(Bytes datagram)> read;
};

class Monitor {
 public:
  // Gets a JSON array of events, or [{"event":"lost"}]. Called on the monitor's thread.
  using OnEvents = std::function<void(std::string)>;

  // The groups are joined when the constructor returns: nothing after it is missed.
  Monitor(const NetNs& ns, const EventSource& source, OnEvents onEvents);
  ~Monitor() { Stop(); }
  void Stop();

 private:
  void Loop();
  Socket socket_;
  std::function<std::string(Bytes datagram)> read_;
  Fd stop_;
  OnEvents onEvents_;
  std::thread thread_;
};

// Writes the events of a datagram, with `write` for each message; it leaves out what is not its own.
std::string WriteEvents(Bytes datagram, const std::function<void(const MessageView& message, json::Writer& to)>& write);

}  // namespace trellis::netlink
