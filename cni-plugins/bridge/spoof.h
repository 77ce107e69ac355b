// Drops what a container sends from a hardware address that is not its own.
// Guarantees: one transaction an ADD; elements are found again by their owner.
#pragma once
#include <string>
#include <vector>

#include "bridge/masquerade.h"

namespace trellis::cni {

void AddSpoofCheck(const MasqueradeOwner& owner, const std::string& port, const std::string& mac);
void RemoveSpoofCheck(const MasqueradeOwner& owner);
void CollectSpoofChecks(const std::string& network, const std::vector<MasqueradeOwner>& valid);

}  // namespace trellis::cni
