// Which of the kernel's two ways to say firewall rules a plugin takes.
// Guarantees: nftables wherever the kernel has it, unless the configuration says otherwise.
#pragma once
#include <optional>
#include <string>

namespace trellis::cni {

enum class Backend { Nftables, Iptables };

// Nothing for an empty word; Error InvalidConfiguration, naming `what`, for one that is no back end.
std::optional<Backend> ParseBackend(const std::string& word, const std::string& what);
// False when this host lacks it.
bool IsAvailable(Backend backend);
// The one that this host has; Error InvalidConfiguration when it has none, saying what (`user`) needs it.
Backend DefaultBackend(const std::string& user);

}  // namespace trellis::cni
