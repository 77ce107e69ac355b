// The VXLAN device of the node.
// Guarantees: one that is there is never replaced; one that differs from the configuration is an Error that says how.
#pragma once
#include "vxlan/config.h"

namespace trellis::cni {

// There and up, made if the configuration says so. Routes, neighbours and addresses on it are the overlay daemon's.
void EnsureDevice(const DeviceConfig& config, uint32_t mtu);
// Throws Error unless it is there as configured, and up where it is ours.
void RequireDevice(const DeviceConfig& config);
// Throws Error where EnsureDevice could not succeed: a device that is ours may still be missing.
void RequireDevicePossible(const DeviceConfig& config);

}  // namespace trellis::cni
