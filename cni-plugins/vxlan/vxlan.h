// vxlan: pod networking across hosts as flannel does it; a bridge on each node, a VXLAN device between the nodes.
// Guarantees: takes flannel's configuration, subnet file and saved state as they are; DEL needs none of them.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

extern const Plugin kVxlan;

}  // namespace trellis::cni
