// table bridge trellis_cni {
//   set ports   { type ifname; elements = { vethab comment "network container eth0" } }
//   set senders { type ifname . ether_addr; elements = { vethab . 02:.. comment "…" } }
//   chain prerouting { type filter hook prerouting priority -300; iifname @ports iifname . ether saddr != @senders drop }
// }
#include "bridge/spoof.h"

#include <functional>
#include <set>

#include "base/json.h"
#include "cni/nft.h"

namespace trellis::cni {

namespace {

const std::string kBase = R"("family":"bridge","table":"trellis_cni")";
constexpr const char* kPortType = R"("type":["ifname"])";
constexpr const char* kSenderType = R"("type":["ifname","ether_addr"])";

constexpr const char* kFailure = "failed to set up macspoofchk";

std::string Quote(const std::string& text) {
  json::Writer to;
  to.String(text);
  return to.Take();
}

std::string Elements(const char* verb, const char* set, const char* type, const std::string& key, const std::string& comment) {
  return std::string(R"({"do":")") + verb + R"(","kind":"element",)" + kBase + R"(,"set":")" + set + R"(",)" + type + R"(,"elements":[{"key":)" + Quote(key) +
         (comment.empty() ? "" : R"(,"comment":)" + Quote(comment)) + "}]}";
}

void RemoveWhere(const char* set, const char* type, const std::function<bool(std::string_view)>& wanted) {
  for (const std::string& key : FindElements(kBase + R"(,"set":")" + set + R"(")", wanted)) {
    std::string batch = "[";
    batch.append(Elements("destroy", set, type, key, {})).append("]");
    CommitNft(batch, kFailure);
  }
}

void RemoveAllWhere(const std::function<bool(std::string_view)>& wanted) {
  RemoveWhere("ports", kPortType, wanted);
  RemoveWhere("senders", kSenderType, wanted);
  DropIfEmpty(R"("family":"bridge","name":"trellis_cni")", kBase + R"(,"set":"senders")");
}

}  // namespace

void AddSpoofCheck(const MasqueradeOwner& owner, const std::string& port, const std::string& mac) {
  const std::string chain = R"("kind":"chain",)" + kBase + R"(,"name":"prerouting")";
  CommitNft(R"([{"do":"add","kind":"table","family":"bridge","name":"trellis_cni"},)"
         R"({"do":"add","kind":"set",)" + kBase + R"(,"name":"ports",)" + kPortType + "}," +
         R"({"do":"add","kind":"set",)" + kBase + R"(,"name":"senders",)" + kSenderType + "}," +
         R"({"do":"add",)" + chain + R"(,"type":"filter","hook":"prerouting","priority":-300},)" +
         R"({"do":"flush",)" + chain + "}," +
         R"({"do":"add","kind":"rule",)" + kBase + R"(,"chain":"prerouting","expressions":[{"meta":{"key":"iifname","dreg":1}},)"
         R"({"lookup":{"set":"ports","sreg":1}},{"meta":{"key":"iifname","dreg":1}},{"payload":{"base":"link","offset":6,"length":6,"dreg":2}},)"
         R"({"lookup":{"set":"senders","sreg":1,"flags":["invert"]}},{"immediate":{"verdict":"drop"}}]},)" +
         Elements("add", "ports", kPortType, port, owner.Comment()) + "," + Elements("add", "senders", kSenderType, port + " . " + mac, owner.Comment()) + "]",
            kFailure);
}

void RemoveSpoofCheck(const MasqueradeOwner& owner) {
  const std::string comment = owner.Comment();
  RemoveAllWhere([&](std::string_view text) { return text == comment; });
}

void CollectSpoofChecks(const std::string& network, const std::vector<MasqueradeOwner>& valid) {
  std::set<std::string> kept;
  for (const MasqueradeOwner& owner : valid) kept.insert(owner.Comment());
  const std::string prefix = network + " ";
  RemoveAllWhere([&](std::string_view text) { return text.substr(0, prefix.size()) == prefix && kept.count(std::string(text)) == 0; });
}

}  // namespace trellis::cni
