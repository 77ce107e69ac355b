// Rules to be deleted that are told by what they say, as iptables -D does, not by their handles.
// Each chain is listed once, however many of its rules go. Where several say the same, the first goes first.
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "netlink/nftables/family.h"

namespace trellis::netlink {

using namespace nft;

namespace {

using Place = std::tuple<uint8_t, std::string, std::string>;  // family, table, chain
using Handles = std::unordered_map<std::string, std::deque<Be64>>;

// Beyond this many, looking for each of them in every rule costs more than reading every rule.
constexpr size_t kMostNeedles = 8;

// The longest bytes that a rule with these expressions surely holds; usually its comment.
std::string_view NeedleOf(const Expressions& expressions) {
  std::string_view longest;
  const auto offer = [&](const std::string& bytes) {
    if (bytes.size() > longest.size()) longest = bytes;
  };
  for (const Expression& expression : expressions) {
    if (const auto* match = std::get_if<Match>(&expression); match && match->info) offer(match->info->value);
    if (const auto* compared = std::get_if<Cmp>(&expression); compared && compared->value) offer(compared->value->bytes);
  }
  return longest;
}

// The handles of the chain's rules by what they say; of few, only rules that may be one of them are read.
Handles ListHandles(Socket& socket, const Place& place, const std::vector<std::string_view>& needles) {
  const auto& [family, table, chain] = place;
  Batch batch;
  BeginMessage(batch, NFT_MSG_GETRULE, NLM_F_DUMP, family, 0);
  batch.PutString(NFTA_RULE_TABLE, table);
  batch.PutString(NFTA_RULE_CHAIN, chain);
  batch.End();
  Handles handles;
  for (const auto& datagram : socket.Dump(batch, "list rules of " + table + " " + chain))
    // Named, as clang before version 16 lets a lambda see no structured binding of itself.
    ForEachMessage(datagram, [&, &wanted = chain](const MessageView& message) {
      if (message.header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) return;
      const Bytes raw = message.Attributes<nfgenmsg>();
      const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
      const auto mayBe = [&](std::string_view needle) { return text.find(needle) != std::string_view::npos; };
      if (needles.size() <= kMostNeedles && std::none_of(needles.begin(), needles.end(), mayBe)) return;
      const nft::Rule rule = nft::Rule::Decode(message);
      if (rule.chain == wanted && rule.handle) handles[Fingerprint(*rule.expressions)].push_back(*rule.handle);
    });
  return handles;
}

}  // namespace

std::vector<Refusal> NftFamily::FindRules(std::vector<NftRequest>& requests) {
  std::map<Place, std::vector<size_t>> wanted;
  for (size_t i = 0; i < requests.size(); ++i)
    if (const auto* rule = std::get_if<nft::Rule>(&requests[i].object);
        rule && requests[i].verb == nft::Verb::Delete && !rule->handle)
      wanted[{*rule->family, *rule->table, *rule->chain}].push_back(i);
  std::vector<Refusal> missing;
  for (const auto& [place, indexes] : wanted) {
    std::vector<std::string_view> needles;
    for (const size_t i : indexes) needles.push_back(NeedleOf(*std::get<nft::Rule>(requests[i].object).expressions));
    Handles handles = ListHandles(socket_, place, needles);
    for (const size_t i : indexes) {
      auto& rule = std::get<nft::Rule>(requests[i].object);
      auto& found = handles[Fingerprint(*rule.expressions)];
      if (found.empty()) {
        missing.push_back({i, ENOENT, "no rule of the chain has these expressions"});
        continue;
      }
      rule.handle = found.front();
      found.pop_front();
    }
  }
  return missing;
}

}  // namespace trellis::netlink
