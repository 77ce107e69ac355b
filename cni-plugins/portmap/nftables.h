// The nf_tables side of portmap.
#pragma once
#include <functional>
#include <string_view>

#include "cni/owner.h"
#include "portmap/config.h"

namespace trellis::cni::portmap::nft {

// One transaction for both families. A port that somebody else published before is taken over.
void Add(const Owner& owner, const Config& config, const std::vector<Publication>& publications);
// Removes what belongs to those whose comment `wanted` says yes to, and with the last of all the table.
void Remove(const std::function<bool(std::string_view)>& wanted);
void Check(const Owner& owner, const Config& config, const std::vector<Publication>& publications);

}  // namespace trellis::cni::portmap::nft
