// What the tests of rtnetlink's requests share.
#pragma once
#include "netlink/route/family.h"

namespace trellis::netlink {

// The messages of a request, with every name of a link as index 7.
inline void EncodeRoute(RouteRequest& request, Batch& batch) {
  std::visit(
      [&](auto& object) {
        ResolveLinks resolve([](const std::string&) { return 7u; });
        object.Describe(resolve);
        object.Encode(batch, request.verb, 0);
      },
      request.object);
}

}  // namespace trellis::netlink
