#include "netlink/monitor.h"

#include <sys/eventfd.h>

#include "base/error.h"

namespace trellis::netlink {

std::string WriteEvents(Bytes datagram, const std::function<void(const MessageView& message, json::Writer& to)>& write) {
  json::Writer to;
  to.BeginArray();
  const size_t empty = to.size();
  ForEachMessage(datagram, [&](const MessageView& message) { write(message, to); });
  const bool some = to.size() > empty;
  to.EndArray();
  return some ? to.Take() : std::string();
}

Monitor::Monitor(const NetNs& ns, const EventSource& source, OnEvents onEvents)
    : socket_(source.protocol, ns), read_(source.read), stop_(eventfd(0, EFD_CLOEXEC)), onEvents_(std::move(onEvents)) {
  if (!stop_) ThrowErrno("make an event descriptor");
  for (const uint32_t group : source.groups) socket_.Join(group);
  thread_ = std::thread([this] { Loop(); });
}

void Monitor::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Monitor::Loop() {
  while (true) {
    try {
      std::string events;
      if (!socket_.Receive(stop_.get(), [&](Bytes datagram) { events = read_(datagram); })) return;
      if (!events.empty()) onEvents_(std::move(events));
    } catch (const std::exception&) {
      // ENOBUFS, or a message we could not read: either way the listener's picture is no longer whole.
      onEvents_("[{\"event\":\"lost\"}]");
    }
  }
}

}  // namespace trellis::netlink
