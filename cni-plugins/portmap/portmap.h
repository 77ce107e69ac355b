// portmap: publishes ports of a container on its host. Chained after the plugin that gave the container its addresses.
// Guarantees: a failed ADD publishes nothing; DEL and GC find what is published without a namespace or an address.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

extern const Plugin kPortmap;

}  // namespace trellis::cni
