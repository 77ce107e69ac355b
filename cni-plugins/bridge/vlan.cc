#include "bridge/vlan.h"

#include <linux/if_bridge.h>
#include <sys/socket.h>

#include "cni/error.h"

namespace trellis::cni {

namespace {

void PutVlan(netlink::Batch& batch, uint16_t flags, uint16_t id) {
  batch.PutValue(IFLA_BRIDGE_VLAN_INFO, bridge_vlan_info{flags, id});
}

}  // namespace

void SetPortVlans(netlink::RouteClient& host, const std::string& port, const BridgeConfig& config) {
  netlink::Batch batch;
  batch.Begin(RTM_SETLINK, 0);
  ifinfomsg head{};
  head.ifi_family = AF_BRIDGE;
  head.ifi_index = static_cast<int>(host.LinkIndex(port));
  batch.Header(head);
  const size_t spec = batch.BeginNest(IFLA_AF_SPEC);
  if (config.vlan != 0) PutVlan(batch, BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED, config.vlan);
  for (const VlanRange& range : config.trunk) {
    if (range.first == range.last) {
      PutVlan(batch, 0, range.first);
      continue;
    }
    PutVlan(batch, BRIDGE_VLAN_INFO_RANGE_BEGIN, range.first);
    PutVlan(batch, BRIDGE_VLAN_INFO_RANGE_END, range.last);
  }
  batch.EndNest(spec);
  batch.End();
  const auto failures = host.socket().Exchange(batch);
  if (failures.empty()) return;
  throw Error(
      Code::InvalidConfiguration, "failed to setup vlan on interface " + port,
      failures[0].text.empty() ? "the kernel's bridge must filter by VLAN (CONFIG_BRIDGE_VLAN_FILTERING)" : failures[0].text);
}

}  // namespace trellis::cni
