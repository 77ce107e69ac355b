#include "cni/owner.h"

#include <algorithm>

#include "cni/fields.h"

namespace trellis::cni {

namespace {

// nft and iptables both take more; what is cut off is the end of an interface's name at the most, for names in use.
constexpr size_t kMaxComment = 120;

}  // namespace

std::string Owner::Comment() const { return (network + " " + containerId + " " + interfaceName).substr(0, kMaxComment); }

Owner OwnerOf(const Request& request) { return {request.network, request.env.containerId, request.env.interfaceName}; }

std::vector<Owner> ValidOwners(const Request& request) {
  std::vector<Owner> valid;
  for (const json::Value* item : List(request.config, "cni.dev/valid-attachments"))
    valid.push_back({request.network, String(*item, "containerID"), String(*item, "ifname")});
  return valid;
}

bool IsStale(std::string_view comment, const std::string& network, const std::vector<Owner>& valid) {
  if (!comment.starts_with(network + " ")) return false;
  return std::none_of(valid.begin(), valid.end(), [&](const Owner& owner) { return owner.Comment() == comment; });
}

}  // namespace trellis::cni
