// host-local: hands out addresses of configured ranges, remembered on this host's disk.
// Guarantees: no address is held twice; a failed ADD holds none; DEL may be called any number of times.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

// The IPAM part alone, for plugins that run it in their own process: addresses, routes and DNS, no interfaces.
Result AllocateAddresses(const Request& request);
void ReleaseAddresses(const Request& request);
void CheckAddresses(const Request& request);
void CollectAddresses(const Request& request);
// Throws Error PluginNotAvailable if no address could be handed out.
void RequireAddresses(const Request& request);

extern const Plugin kHostLocal;

}  // namespace trellis::cni
