// The container's namespace, as CNI_NETNS names it.
// Guarantees: one that cannot be opened is an Error that a runtime understands.
#pragma once
#include <optional>

#include "cni/plugin.h"
#include "netns/netns.h"

namespace trellis::cni {

NetNs OpenContainer(const Request& request);
// Nothing when it is not named or gone already, as a DEL must expect.
std::optional<NetNs> FindContainer(const Request& request);

// Writes a sysctl of the namespace: ("net/ipv4/ip_forward", "1"). A value that stands already is not written.
// False when the kernel does not have it.
bool SetSysctl(const NetNs& ns, const std::string& name, const std::string& value);

}  // namespace trellis::cni
