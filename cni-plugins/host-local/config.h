// The IPAM section of a network configuration, as host-local reads it.
// Guarantees: ranges are checked and do not overlap; requested addresses come from every place a runtime puts them.
#pragma once
#include <string>
#include <vector>

#include "cni/plugin.h"
#include "host-local/range.h"

namespace trellis::cni {

struct IpamConfig {
  std::vector<RangeSet> sets;
  std::vector<Route> routes;
  std::vector<IpAddress> requested;
  std::string dataDir;
  std::string resolvConf;

  static IpamConfig Parse(const Request& request);
};

}  // namespace trellis::cni
