// VLANs of a bridge port, where the kernel filters by them.
#pragma once
#include <string>

#include "bridge/config.h"
#include "netlink/route/client.h"

namespace trellis::cni {

// The access VLAN (untagged) or the trunk's (tagged) of the port. Throws Error where the kernel cannot.
void SetPortVlans(netlink::RouteClient& host, const std::string& port, const BridgeConfig& config);

}  // namespace trellis::cni
