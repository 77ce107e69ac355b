// Masquerading of what pods send beyond their network.
// Guarantees: one transaction an ADD, whatever it finds: chains that were flushed are mended; one map element a pod
// address, nothing else that grows with pods; DEL finds its elements also without a namespace.
#pragma once
#include <string>
#include <vector>

#include "bridge/config.h"

namespace trellis::cni {

// Who an element belongs to.
struct MasqueradeOwner {
  std::string network, containerId, interfaceName;
  // What stands beside the element, for people and for GC.
  std::string Comment() const;
};

void AddMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses);
void RemoveMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner);
// Throws Error if traffic of the addresses would not be masqueraded.
void CheckMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses);
// Removes what belongs to the network and to none of `valid`.
void CollectMasquerade(MasqueradeBackend backend, const std::string& network, const std::vector<MasqueradeOwner>& valid);

// The one that this host has: nftables unless only iptables is there.
MasqueradeBackend DefaultBackend();

}  // namespace trellis::cni
