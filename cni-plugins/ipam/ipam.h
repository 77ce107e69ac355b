// Address management on behalf of an interface plugin.
#pragma once
#include "cni/execute.h"

namespace trellis::cni {

// The IPAM plugin that a configuration names; none for a network of the second layer only.
CalledPlugin IpamOf(const Request& request);

}  // namespace trellis::cni
