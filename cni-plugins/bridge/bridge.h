// bridge: joins a container to a bridge of the host by a veth pair.
// Guarantees: a failed ADD leaves no interface, address or rule; DEL may be called any number of times.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

Result AddToBridge(const Request& request);
void RemoveFromBridge(const Request& request);
void CheckBridge(const Request& request);
void CollectBridge(const Request& request);
void BridgeStatus(const Request& request);

extern const Plugin kBridge;

}  // namespace trellis::cni
