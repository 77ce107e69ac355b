// Random names and addresses for new links.
// Guarantees: from the kernel's generator, so that two processes do not choose alike.
#pragma once
#include <string>

#include "base/ip.h"

namespace trellis::cni {

std::string RandomBytes(size_t count);
// Locally administered, unicast.
HardwareAddress RandomMac();

}  // namespace trellis::cni
