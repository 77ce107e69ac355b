// Sets and maps: what they hold, not the elements themselves.
// Guarantees: type numbers, the description of concatenated intervals and nft's notes are such that `nft list` prints them.
#pragma once
#include "netlink/nftables/objects.h"
#include "netlink/nftables/types.h"

namespace trellis::netlink::nft {

inline constexpr Name kSetFlags[] = {{"anonymous", NFT_SET_ANONYMOUS},
                                     {"constant", NFT_SET_CONSTANT},
                                     {"interval", NFT_SET_INTERVAL},
                                     {"timeout", NFT_SET_TIMEOUT},
                                     {"dynamic", NFT_SET_EVAL}};
inline constexpr Name kSetPolicies[] = {{"performance", NFT_SET_POL_PERFORMANCE}, {"memory", NFT_SET_POL_MEMORY}};

// A set; with `mapType` a map. An anonymous one is called "__set%d" or "__map%d", gets its number from the kernel, and
// is found by `id` in the batch that makes it; it goes with the rule that looks it up.
struct Set {
  static constexpr std::string_view kKind = "set";
  static constexpr uint16_t kGet = NFT_MSG_GETSET;
  Opt<uint8_t> family;
  Opt<std::string> table, name, comment;
  Opt<std::vector<std::string>> type, mapType;
  Opt<WordFlags<kSetFlags>> flags;
  Opt<Be64> timeoutMs, handle;
  Opt<Be32> gcIntervalMs, policy, id;
  Opt<uint32_t> size;
  Opt<bool> autoMerge;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kNftFamilies);
    c("table", NFTA_SET_TABLE, table);
    c("name", NFTA_SET_NAME, name);
    c.Plain("id", id);
    c.Plain("type", type);
    c.Plain("mapType", mapType);
    c.Plain("flags", flags);
    c("timeoutMs", NFTA_SET_TIMEOUT, timeoutMs);
    c("gcIntervalMs", NFTA_SET_GC_INTERVAL, gcIntervalMs);
    c.Plain("size", size);
    c.Named("policy", NFTA_SET_POLICY, policy, kSetPolicies);
    c("handle", NFTA_SET_HANDLE, handle);
    c.Plain("autoMerge", autoMerge);
    c.Plain("comment", comment);
  }
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Set Decode(const MessageView& message);
};

}  // namespace trellis::netlink::nft
