// The nf_tables side of masquerading.
#pragma once
#include "bridge/masquerade.h"

namespace trellis::cni::nft {

void Add(const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses);
void Remove(const MasqueradeOwner& owner);
void Check(const std::vector<IpPrefix>& addresses);
void Collect(const std::string& network, const std::vector<MasqueradeOwner>& valid);

}  // namespace trellis::cni::nft
