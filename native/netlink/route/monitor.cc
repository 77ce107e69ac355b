#include "netlink/route/monitor.h"

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

std::string ReadEvents(Bytes datagram) { return WriteEvents(datagram, WriteEvent); }

EventSource RouteEvents(const std::vector<std::string>& kinds) {
  EventSource source{NETLINK_ROUTE, {}, ReadEvents};
  for (const auto& kind : kinds) {
    bool known = false;
    for (const auto& entry : kGroups) {
      if (entry.kind != kind) continue;
      known = true;
      source.groups.insert(source.groups.end(), entry.groups.begin(), entry.groups.end());
    }
    if (!known) throw InputError("no events of kind '" + kind + "'; there are link, address, route, rule, neighbour");
  }
  return source;
}

}  // namespace trellis::netlink
