// Events of links, addresses, routes, rules and neighbours.
// Guarantees: {"event":"new"|"delete","object":{"kind":...}} for each, as listed.
#pragma once
#include <string>
#include <vector>

#include "netlink/monitor.h"

namespace trellis::netlink {

// `kinds`: link, address, route, rule, neighbour. InputError for others.
EventSource RouteEvents(const std::vector<std::string>& kinds);

// The events of one datagram, as they go to the listener. Empty when it holds none of ours.
std::string ReadEvents(Bytes datagram);

}  // namespace trellis::netlink
