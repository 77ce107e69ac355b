// Reads resolv.conf(5) for a result's DNS part.
// Guarantees: pure; unknown lines are passed over.
#pragma once
#include <string_view>

#include "cni/result.h"

namespace trellis::cni {

Dns ParseResolvConf(std::string_view text);

}  // namespace trellis::cni
