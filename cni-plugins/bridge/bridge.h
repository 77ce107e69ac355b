// bridge: joins a container to a bridge of the host by a veth pair.
// Guarantees: a failed ADD leaves no interface, address or rule; DEL may be called any number of times.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

extern const Plugin kBridge;

}  // namespace trellis::cni
