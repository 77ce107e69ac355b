// Runs another plugin as a program, as a plugin that delegates must: found in CNI_PATH, same environment.
// Guarantees: an error that it tells is thrown as the same Error here; it does not outlive us.
#pragma once
#include <string>

#include "cni/plugin.h"

namespace trellis::cni {

// Hands the request's configuration to the plugin `type`; returns what it wrote to standard output.
// `kind` is for messages: "IPAM", "delegate".
std::string ExecutePlugin(const Request& request, const std::string& type, const char* command, const std::string& kind);

}  // namespace trellis::cni
