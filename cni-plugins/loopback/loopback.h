// loopback: brings a container's lo up, and down again.
// Guarantees: idempotent; a namespace that is gone is nothing to take down.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

extern const Plugin kLoopback;

}  // namespace trellis::cni
