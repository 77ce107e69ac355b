// The iptables side of portmap, for hosts whose firewall is kept with iptables and for conditions in its words.
#pragma once
#include <functional>
#include <string_view>

#include "cni/owner.h"
#include "portmap/config.h"

namespace trellis::cni::portmap::iptables {

// One read and one write of each family's table. A port that somebody else published before is taken over.
void Add(const Owner& owner, const Config& config, const std::vector<Publication>& publications);
// Removes what belongs to those whose comment `wanted` says yes to, and with the last of all every chain.
void Remove(const std::function<bool(std::string_view)>& wanted);
void Check(const Owner& owner, const Config& config, const std::vector<Publication>& publications);

}  // namespace trellis::cni::portmap::iptables
