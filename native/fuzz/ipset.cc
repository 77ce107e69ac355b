// The decoders of sets and of their entries, as listings bring them.
#include <linux/netfilter/nfnetlink.h>

#include "fuzz/fuzz.h"
#include "netlink/ipset/set.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  fuzz::DecodePayload(NFNL_SUBSYS_IPSET << 8 | IPSET_CMD_LIST, input, [](const MessageView& message, json::Writer& to) {
    IpSet listed;
    if (IpSet::Decode(message, listed)) netlink::ToJson(to).Object(listed);
  });
  fuzz::DecodePayload(0, input, [](const MessageView& message, json::Writer& to) {
    const SetEntry entry = SetEntry::Decode(message.payload);
    MUST(entry.Text() == SetEntry::Decode(message.payload).Text());
    entry.Write(to);
  });
}
