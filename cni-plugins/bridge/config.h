// The configuration of the bridge plugin.
// Guarantees: contradictions are refused before anything is made.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cni/backend.h"
#include "cni/plugin.h"

namespace trellis::cni {

using MasqueradeBackend = Backend;

struct VlanRange {
  uint16_t first = 0;
  uint16_t last = 0;
};

struct BridgeConfig {
  std::string bridge;
  bool isGateway = false, isDefaultGateway = false, forceAddress = false, ipMasq = false, hairpin = false, promisc = false;
  bool macSpoofCheck = false, ipSpoofCheck = false, portIsolation = false, containerInterface = true,
       duplicateAddressDetection = false;
  std::optional<MasqueradeBackend> backend;
  std::optional<uint32_t> mtu;
  uint16_t vlan = 0;
  std::vector<VlanRange> trunk;
  std::optional<HardwareAddress> mac;
  Dns dns;

  static BridgeConfig Parse(const Request& request);
  bool ChecksSenders() const { return macSpoofCheck || ipSpoofCheck; }
  bool UsesVlans() const { return vlan != 0 || !trunk.empty(); }
};

}  // namespace trellis::cni
