// The configuration of the vxlan plugin: flannel's fields, and a section for the VXLAN device.
// Guarantees: contradictions are refused before anything is made.
#pragma once
#include <optional>
#include <string>

#include "base/ip.h"
#include "cni/plugin.h"

namespace trellis::cni {

struct DeviceConfig {
  std::string name;
  std::optional<uint32_t> vni;  // without it the overlay daemon makes the device
  uint16_t port = 8472;         // flannel's, and Linux' before IANA chose 4789
  std::optional<IpAddress> local;
  std::string dev;  // the link that carries the packets

  bool IsOurs() const { return vni.has_value(); }
};

struct VxlanConfig {
  std::string subnetFile;
  std::string dataDir;
  std::optional<DeviceConfig> device;

  static VxlanConfig Parse(const Request& request);
};

}  // namespace trellis::cni
