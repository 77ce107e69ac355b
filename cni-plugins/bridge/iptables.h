// The iptables side of masquerading, for hosts whose firewall is kept with iptables.
#pragma once
#include "bridge/masquerade.h"

namespace trellis::cni::iptables {

void Add(const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses);
void Remove(const MasqueradeOwner& owner);
void Check(const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses);
void Collect(const std::string& network, const std::vector<MasqueradeOwner>& valid);

}  // namespace trellis::cni::iptables
