// Drops what a container sends from a hardware address that is not its own and, where its addresses are guarded, from an
// address that is not its own; ARP and neighbour discovery speak of its own addresses alone.
// Guarantees: one transaction per ADD; elements are found again by their owner.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "bridge/masquerade.h"

namespace trellis::cni {

struct GuardedPort {
  std::string name;
  HardwareAddress mac;
  // Without them only the hardware address is checked.
  std::optional<std::vector<IpPrefix>> addresses;
};

void AddSpoofCheck(const MasqueradeOwner& owner, const GuardedPort& port);
void RemoveSpoofCheck(const MasqueradeOwner& owner);
void CollectSpoofChecks(const std::string& network, const std::vector<MasqueradeOwner>& valid);

}  // namespace trellis::cni
