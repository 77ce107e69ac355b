#include "portmap/nftables.h"

#include <algorithm>
#include <map>
#include <set>

#include "cni/error.h"
#include "cni/lock.h"
#include "cni/nft.h"
#include "portmap/rules.h"

namespace trellis::cni::portmap::nft {

namespace {

constexpr const char* kFailure = "failed to publish ports";

void Commit(const std::vector<std::string>& requests) {
  if (requests.empty()) return;
  std::string text;
  for (const std::string& request : requests) text += (text.empty() ? '[' : ',') + request;
  CommitNft(text + "]", kFailure);
}

std::vector<Publication> OfFamily(const std::vector<Publication>& publications, bool v6) {
  std::vector<Publication> some;
  std::copy_if(publications.begin(), publications.end(), std::back_inserter(some),
               [&](const Publication& one) { return one.IsV6() == v6; });
  return some;
}

std::string TableOf(const Family& family) {
  return std::string(R"("family":")") + family.name + R"(","name":")" + kTable + R"(")";
}

bool HasTable(const Family& family) {
  bool has = false;
  QueryNft(R"({"kind":"table",)" + TableOf(family) + "}", [&](const json::Value&) { has = true; });
  return has;
}

[[noreturn]] void Gone(const Family& family, const std::string& what) {
  throw Error(Code::Internal, what + " is gone",
              std::string("table ") + family.name + " " + kTable + " was changed by somebody else; run DEL and ADD again");
}

// The names of those chains that hold exactly their rules.
std::set<std::string> IntactChains(const Family& family, const std::vector<Chain>& chains) {
  std::map<std::string, std::vector<std::string>> digests;
  QueryNft(std::string(R"({"kind":"rule","family":")") + family.name + R"(","table":")" + kTable + R"("})",
           [&](const json::Value& rule) {
             const json::Value* comment = rule.Find("comment");
             digests[std::string(rule.Find("chain")->string())].emplace_back(comment != nullptr ? comment->string()
                                                                                                : std::string_view());
           });
  std::set<std::string> intact;
  for (const Chain& chain : chains)
    if (std::ranges::equal(chain.rules, digests[chain.name], {}, DigestOf)) intact.insert(chain.name);
  return intact;
}

Present ReadPresent(const Family& family, const std::vector<Chain>& chains) {
  Present present{IntactChains(family, chains), {}};
  for (const Map& map : kMaps)
    for (std::string& key : FindElements(NameOf(family, map), [](std::string_view) { return true; }))
      present.keys.insert({&map, std::move(key)});
  return present;
}

void CheckElement(const Family& family, const Element& element, const std::string& comment) {
  bool found = false;
  QueryNft(R"({"kind":"element",)" + NameOf(family, *element.map) + "}", [&](const json::Value& item) {
    const json::Value* value = item.Find(element.map->marks ? "verdict" : "data");
    const json::Value* note = item.Find("comment");
    found = found || (item.Find("key")->string() == element.key && value != nullptr && value->string() == element.value &&
                      note != nullptr && note->string() == comment);
  });
  if (!found) Gone(family, element.key + " of map " + element.map->name);
}

}  // namespace

void Add(const Owner& owner, const Config& config, const std::vector<Publication>& publications) {
  const RulesLock lock;
  const auto commit = [&](bool trusting) {
    std::vector<std::string> requests;
    for (const bool v6 : {false, true}) {
      const auto some = OfFamily(publications, v6);
      if (some.empty()) continue;
      Present present = ReadPresent(FamilyOf(v6), ChainsOf(FamilyOf(v6), config, some));
      if (!trusting) present.chains.clear();
      const auto more = AddRequests(owner, config, some, present);
      requests.insert(requests.end(), more.begin(), more.end());
    }
    Commit(requests);
  };
  try {
    commit(true);
  } catch (const Error&) {
    commit(false);  // somebody may have flushed the ruleset since we looked
  }
}

void Remove(const std::function<bool(std::string_view)>& wanted) {
  // Elements are looked for and then deleted by their keys; nobody may take a key over in between.
  const RulesLock lock;
  for (const bool v6 : {false, true}) {
    const Family& family = FamilyOf(v6);
    if (!HasTable(family)) continue;
    std::vector<std::string> requests, sets;
    for (const Map& map : kMaps) {
      sets.push_back(NameOf(family, map));
      for (const std::string& key : FindElements(sets.back(), wanted)) requests.push_back(DestroyElement(family, map, key));
    }
    Commit(requests);
    DropIfEmpty(TableOf(family), sets);
  }
}

void Check(const Owner& owner, const Config& config, const std::vector<Publication>& publications) {
  for (const bool v6 : {false, true}) {
    const auto some = OfFamily(publications, v6);
    if (some.empty()) continue;
    const auto chains = ChainsOf(FamilyOf(v6), config, some);
    const auto intact = IntactChains(FamilyOf(v6), chains);
    for (const Chain& chain : chains)
      if (!intact.contains(chain.name)) Gone(FamilyOf(v6), "a rule of chain " + chain.name);
    for (const Publication& publication : some)
      for (const Element& element : ElementsOf(config, publication)) CheckElement(FamilyOf(v6), element, owner.Comment());
  }
}

}  // namespace trellis::cni::portmap::nft
