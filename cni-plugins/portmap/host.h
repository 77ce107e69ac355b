// What the host needs besides rules: a way for localhost to leave by an interface, and no flows that outlive their rules.
#pragma once
#include <vector>

#include "portmap/config.h"

namespace trellis::cni::portmap {

// Lets packets from 127.0.0.0/8 leave by the interface that leads to the container; IPv6 knows no such thing.
void AllowLocalhost(const IpAddress& container);

// Forgets UDP flows to the published ports, which would else go where they went before. Only those to addresses of this
// host are touched. A kernel that cannot tell its flows keeps them: they end by themselves.
void ForgetFlows(const std::vector<Publication>& publications);

}  // namespace trellis::cni::portmap
