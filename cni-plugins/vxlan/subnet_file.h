// The node's subnet file, as flanneld and Trellis' overlay daemon write it: KEY=VALUE lines.
// Guarantees: what is returned is whole and makes sense; otherwise an Error names the line and what should stand there.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"

namespace trellis::cni {

struct SubnetFile {
  std::vector<IpPrefix> networks;  // of all nodes, IPv4 before IPv6
  std::vector<IpPrefix> subnets;   // of this node, at most one a family, IPv4 before IPv6
  uint32_t mtu = 0;
  bool ipMasq = false;  // the daemon masquerades itself

  // Pure. Throws Error InvalidConfiguration.
  static SubnetFile Parse(std::string_view text, const std::string& path);
  // Throws Error TryAgainLater when there is no such file yet.
  static SubnetFile Read(const std::string& path);
  bool Holds(const IpAddress& address) const;  // an address of this node's subnets
};

}  // namespace trellis::cni
