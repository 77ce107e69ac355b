// Follows changes of links, addresses, routes, rules and neighbours of one namespace on a thread of its own.
// Guarantees: events in the kernel's order; when the kernel had to drop some, one "lost" event says so; Stop() joins.
#pragma once
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "netlink/socket.h"

namespace trellis::netlink {

class Monitor {
 public:
  // Gets a JSON array of events: {"event":"new"|"delete","object":{"kind":...}} or {"event":"lost"}. Called on the
  // monitor's thread.
  using OnEvents = std::function<void(std::string)>;

  // `kinds`: link, address, route, rule, neighbour. Joined when the constructor returns: nothing after it is missed.
  Monitor(const NetNs& ns, const std::vector<std::string>& kinds, OnEvents onEvents);
  ~Monitor() { Stop(); }
  void Stop();

 private:
  void Loop();
  Socket socket_;
  Fd stop_;
  OnEvents onEvents_;
  std::thread thread_;
};

// The events of one datagram, as they go to OnEvents. Empty when it holds none of ours.
std::string ReadEvents(Bytes datagram);

}  // namespace trellis::netlink
