// host-local: hands out addresses of configured ranges, remembered on this host's disk.
// Guarantees: no address is held twice; a failed ADD holds none; DEL may be called any number of times.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

// Its result has addresses, routes and DNS, no interfaces.
extern const Plugin kHostLocal;

}  // namespace trellis::cni
