// The decoders of IPVS services, destinations, timeouts and information, and of generic netlink's families.
#include <sys/socket.h>

#include "fuzz/fuzz.h"
#include "netlink/ipvs/family.h"

namespace {

template <class T>
void Write(trellis::json::Writer& to, T object) {
  trellis::netlink::ToJson(to).Object(object);
}

}  // namespace

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  const auto each = [&](auto decode) { fuzz::DecodePayload(GENL_MIN_ID, input, decode); };
  each([](const MessageView& message, json::Writer& to) { Write(to, IpvsService::Decode(message)); });
  for (const int family : {AF_INET, AF_INET6})
    each([family](const MessageView& message, json::Writer& to) { Write(to, IpvsDestination::Decode(message, family)); });
  each([](const MessageView& message, json::Writer& to) { Write(to, IpvsTimeouts::Decode(message)); });
  each([](const MessageView& message, json::Writer& to) { Write(to, IpvsInfo::Decode(message)); });
  each([](const MessageView& message, json::Writer&) { GenericFamily::Decode(message); });
}
