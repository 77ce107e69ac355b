#include "netlink/route/monitor.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "base/error.h"
#include "netlink/route/family.h"

namespace trellis::netlink {

namespace {

struct Groups {
  std::string_view kind;
  std::vector<uint32_t> groups;
};

const Groups kGroups[] = {
    {"link", {RTNLGRP_LINK}},
    {"address", {RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR}},
    {"route", {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE}},
    {"rule", {RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE}},
    {"neighbour", {RTNLGRP_NEIGH}},
};

bool IsDeletion(uint16_t type) { return type % 4 == 1; }  // rtnetlink types come in fours: NEW, DEL, GET, SET

void WriteEvent(const MessageView& message, json::Writer& to) {
  json::Writer object;
  if (message.header.nlmsg_type < RTM_BASE || !WriteRouteObject(message, object)) return;
  to.BeginObject();
  to.Key("event");
  to.String(IsDeletion(message.header.nlmsg_type) ? "delete" : "new");
  to.Key("object");
  to.Raw(object.Take());
  to.EndObject();
}

}  // namespace

std::string ReadEvents(Bytes datagram) {
  json::Writer to;
  to.BeginArray();
  const size_t empty = to.size();
  ForEachMessage(datagram, [&](const MessageView& message) { WriteEvent(message, to); });
  const bool some = to.size() > empty;
  to.EndArray();
  return some ? to.Take() : std::string();
}

Monitor::Monitor(const NetNs& ns, const std::vector<std::string>& kinds, OnEvents onEvents)
    : socket_(NETLINK_ROUTE, ns), stop_(eventfd(0, EFD_CLOEXEC)), onEvents_(std::move(onEvents)) {
  if (!stop_) ThrowErrno("make an event descriptor");
  for (const auto& kind : kinds) {
    bool known = false;
    for (const auto& entry : kGroups) {
      if (entry.kind != kind) continue;
      known = true;
      for (const uint32_t group : entry.groups) socket_.Join(group);
    }
    if (!known) throw InputError("no events of kind '" + kind + "'; there are link, address, route, rule, neighbour");
  }
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
      if (!socket_.Receive(stop_.get(), [&](Bytes datagram) { events = ReadEvents(datagram); })) return;
      if (!events.empty()) onEvents_(std::move(events));
    } catch (const std::exception&) {
      // ENOBUFS, or a message we could not read: either way the listener's picture is no longer whole.
      onEvents_("[{\"event\":\"lost\"}]");
    }
  }
}

}  // namespace trellis::netlink
