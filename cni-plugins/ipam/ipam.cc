#include "ipam/ipam.h"

#include "cni/fields.h"
#include "host-local/ipam.h"

namespace trellis::cni {

CalledPlugin IpamOf(const Request& request) {
  const json::Value* ipam = Object(request.config, "ipam");
  return {ipam != nullptr ? String(*ipam, "type") : std::string(), kHostLocal, "IPAM"};
}

}  // namespace trellis::cni
