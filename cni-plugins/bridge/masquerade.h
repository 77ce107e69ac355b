// Masquerading of what pods send beyond their network.
// Guarantees: one transaction an ADD, whatever it finds: chains that were flushed are mended; one map element a pod
// address, nothing else that grows with pods; DEL finds its elements also without a namespace.
#pragma once
#include <string>
#include <vector>

#include "bridge/config.h"
#include "cni/owner.h"

namespace trellis::cni {

using MasqueradeOwner = Owner;

void AddMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses);
void RemoveMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner);
// Throws Error if traffic of the addresses would not be masqueraded.
void CheckMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses);
// Removes what belongs to the network and to none of `valid`.
void CollectMasquerade(MasqueradeBackend backend, const std::string& network, const std::vector<MasqueradeOwner>& valid);

}  // namespace trellis::cni
