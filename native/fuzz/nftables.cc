// The decoders of nf_tables: tables, chains, rules with every expression, sets, elements, events, traces.
#include <linux/netfilter/nfnetlink.h>

#include "fuzz/fuzz.h"
#include "netlink/nftables/events.h"
#include "netlink/nftables/family.h"
#include "netlink/nftables/trace.h"

namespace {

constexpr uint16_t Type(int message) { return static_cast<uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message); }

}  // namespace

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  for (const int message : {NFT_MSG_NEWTABLE, NFT_MSG_NEWCHAIN, NFT_MSG_NEWRULE, NFT_MSG_NEWSET})
    fuzz::DecodePayload(Type(message), input, WriteNftObject);
  fuzz::DecodePayload(Type(NFT_MSG_NEWSETELEM), input, [](const MessageView& message, json::Writer& to) {
    nft::Set of;
    of.type.emplace().push_back("ipv4_addr");
    to.BeginArray();
    for (auto& element : nft::Assemble(nft::DecodeElements(message), of)) netlink::ToJson(to).Object(element);
    to.EndArray();
  });
  fuzz::Reads([&] {
    const std::string events = ReadNftEvents(input);
    if (!events.empty()) json::Document{events};
  });
  fuzz::DecodePayload(Type(NFT_MSG_TRACE), input,
                      [](const MessageView& message, json::Writer& to) { WriteNftTrace(message, "", to); });
}
