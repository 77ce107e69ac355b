// Rules to be deleted that are told by what they say, as iptables -D does, not by their handles.
// Each chain is listed once, however many of its rules go. Where several say the same, the first goes first.
#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>

#include "netlink/nftables/family.h"

namespace trellis::netlink {

using namespace nft;

namespace {

using Place = std::tuple<uint8_t, std::string, std::string>;  // family, table, chain
using Handles = std::unordered_map<std::string, std::deque<Be64>>;

Handles ListHandles(Socket& socket, const Place& place) {
  const auto& [family, table, chain] = place;
  Batch batch;
  BeginMessage(batch, NFT_MSG_GETRULE, NLM_F_DUMP, family, 0);
  batch.PutString(NFTA_RULE_TABLE, table);
  batch.PutString(NFTA_RULE_CHAIN, chain);
  batch.End();
  Handles handles;
  for (const auto& datagram : socket.Dump(batch, "list rules of " + table + " " + chain))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (message.header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) return;
      const nft::Rule rule = nft::Rule::Decode(message);
      if (rule.chain == chain && rule.handle) handles[Fingerprint(*rule.expressions)].push_back(*rule.handle);
    });
  return handles;
}

}  // namespace

std::vector<Refusal> NftFamily::FindRules(std::vector<NftRequest>& requests) {
  std::map<Place, Handles> chains;
  std::vector<Refusal> missing;
  for (size_t i = 0; i < requests.size(); ++i) {
    auto* rule = std::get_if<nft::Rule>(&requests[i].object);
    if (rule == nullptr || requests[i].verb != nft::Verb::Delete || rule->handle) continue;
    const Place place{*rule->family, *rule->table, *rule->chain};
    auto chain = chains.find(place);
    if (chain == chains.end()) chain = chains.emplace(place, ListHandles(socket_, place)).first;
    auto found = chain->second.find(Fingerprint(*rule->expressions));
    if (found == chain->second.end() || found->second.empty()) {
      missing.push_back({i, ENOENT, "no rule of the chain has these expressions"});
      continue;
    }
    rule->handle = found->second.front();
    found->second.pop_front();
  }
  return missing;
}

}  // namespace trellis::netlink
