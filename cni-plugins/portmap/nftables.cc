#include "portmap/nftables.h"

#include <algorithm>
#include <map>

#include "cni/error.h"
#include "cni/lock.h"
#include "cni/nft.h"
#include "portmap/rules.h"

namespace trellis::cni::portmap::nft {

namespace {

// DEL looks for its elements and then deletes them by their keys; nobody may take a key over in between.
constexpr const char* kLock = "/run/trellis-cni-portmap.lock";
constexpr const char* kFailure = "failed to publish ports";

void Commit(const std::vector<std::string>& requests) {
  if (requests.empty()) return;
  std::string text;
  for (const std::string& request : requests) text += (text.empty() ? '[' : ',') + request;
  CommitNft(text + "]", kFailure);
}

std::vector<Publication> OfFamily(const std::vector<Publication>& publications, bool v6) {
  std::vector<Publication> some;
  std::copy_if(publications.begin(), publications.end(), std::back_inserter(some), [&](const Publication& one) { return one.IsV6() == v6; });
  return some;
}

std::string TableOf(const Family& family) { return std::string(R"("family":")") + family.name + R"(","name":")" + kTable + R"(")"; }

bool HasTable(const Family& family) {
  bool has = false;
  QueryNft(R"({"kind":"table",)" + TableOf(family) + "}", [&](const json::Value&) { has = true; });
  return has;
}

[[noreturn]] void Gone(const Family& family, const std::string& what) {
  throw Error(Code::Internal, what + " is gone", std::string("table ") + family.name + " " + kTable + " was changed by somebody else; run DEL and ADD again");
}

void CheckChains(const Family& family, const std::vector<Chain>& chains) {
  std::map<std::string, size_t, std::less<>> counts;
  QueryNft(std::string(R"({"kind":"rule","family":")") + family.name + R"(","table":")" + kTable + R"("})", [&](const json::Value& rule) {
    if (const json::Value* chain = rule.Find("chain")) ++counts[std::string(chain->string)];
  });
  for (const Chain& chain : chains)
    if (counts[chain.name] < chain.rules.size()) Gone(family, "a rule of chain " + chain.name);
}

void CheckElement(const Family& family, const Element& element, const std::string& comment) {
  bool found = false;
  QueryNft(R"({"kind":"element",)" + NameOf(family, *element.map) + "}", [&](const json::Value& item) {
    const json::Value* value = item.Find(element.map->marks ? "verdict" : "data");
    const json::Value* note = item.Find("comment");
    found = found || (item.Find("key")->string == element.key && value != nullptr && value->string == element.value && note != nullptr && note->string == comment);
  });
  if (!found) Gone(family, element.key + " of map " + element.map->name);
}

}  // namespace

void Add(const Owner& owner, const Config& config, const std::vector<Publication>& publications) {
  const FileLock lock(kLock);
  std::vector<std::string> requests;
  for (const bool v6 : {false, true}) {
    const auto some = OfFamily(publications, v6);
    if (some.empty()) continue;
    const auto more = AddRequests(owner, config, some, v6);
    requests.insert(requests.end(), more.begin(), more.end());
  }
  Commit(requests);
}

void Remove(const std::function<bool(std::string_view)>& wanted) {
  const FileLock lock(kLock);
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
    CheckChains(FamilyOf(v6), ChainsOf(FamilyOf(v6), config, some));
    for (const Publication& publication : some)
      for (const Element& element : ElementsOf(config, publication)) CheckElement(FamilyOf(v6), element, owner.Comment());
  }
}

}  // namespace trellis::cni::portmap::nft
