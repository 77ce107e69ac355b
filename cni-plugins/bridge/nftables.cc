// table ip trellis_cni {
//   map pods { type ipv4_addr : verdict; elements = { 10.1.0.5 : goto to_10.1.0.0_16 } }
//   chain to_10.1.0.0_16 { ip daddr 10.1.0.0/16 accept; ip daddr != 224.0.0.0/4 masquerade }
//   chain postrouting { type nat hook postrouting priority srcnat; ip saddr vmap @pods }
// }
// and the same for ip6. Every ADD looks at the two chains: flushed by others, they are written anew in its transaction.
// Where they stand it adds the element alone, since deleting anything makes the kernel wait for a grace period.
#include "bridge/nftables.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "cni/error.h"
#include "cni/nft.h"
#include "host-local/range.h"

namespace trellis::cni::nft {

namespace {

constexpr const char* kTable = "trellis_cni";

// What differs between the families: where addresses stand in the header, and which are multicast.
struct Family {
  const char* name;
  const char* type;
  int source, destination, length;
  IpPrefix multicast;
};

const Family& FamilyOf(const IpAddress& address) {
  static const Family v4{"ip", "ipv4_addr", 12, 16, 4, *IpPrefix::Parse("224.0.0.0/4")};
  static const Family v6{"ip6", "ipv6_addr", 8, 24, 16, *IpPrefix::Parse("ff00::/8")};
  return address.length == 4 ? v4 : v6;
}

// Names may hold letters, digits, dots, slashes and underscores.
std::string ChainOf(const IpPrefix& subnet) {
  std::string name = "to_" + subnet.ToString();
  std::replace(name.begin(), name.end(), ':', '_');
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string MaskOf(const IpPrefix& prefix) {
  std::string mask(prefix.address.length, '\0');
  for (size_t bit = 0; bit < prefix.length; ++bit) mask[bit / 8] = static_cast<char>(mask[bit / 8] | 0x80 >> (bit % 8));
  return ToHex({reinterpret_cast<const uint8_t*>(mask.data()), mask.size()});
}

// Requests are JSON text; the session reads, checks and sends them.
class Requests {
 public:
  explicit Requests(const Family& family) : family_(family) { to_.BeginArray(); }

  void Table() {
    Begin("add", "table", "name", kTable);
    End();
  }
  void Chain(const std::string& name, bool isBase) {
    Begin("add", "chain", "name", name);
    if (isBase) {
      Field("type", "nat");
      Field("hook", "postrouting");
      to_.Key("priority");
      to_.Integer(100);
    }
    End();
  }
  void Flush(const std::string& chain) {
    Begin("flush", "chain", "name", chain);
    End();
  }
  void Generation(int64_t expected) {
    to_.BeginObject();
    Field("do", "check");
    Field("kind", "generation");
    to_.Key("generation");
    to_.Integer(expected);
    to_.EndObject();
  }
  void Map() {
    Begin("add", "set", "name", "pods");
    Types();
    End();
  }
  void Element(const char* verb, const IpAddress& key, const std::string& verdict, const std::string& comment) {
    Begin(verb, "element", "set", "pods");
    Types();
    to_.Key("elements");
    to_.BeginArray();
    to_.BeginObject();
    Field("key", key.ToString());
    if (!verdict.empty()) Field("verdict", verdict);
    if (!comment.empty()) Field("comment", comment);
    to_.EndObject();
    to_.EndArray();
    End();
  }
  void Rule(const std::string& chain, const std::string& expressions) {
    Begin("add", "rule", "chain", chain);
    to_.Key("expressions");
    to_.Raw("[" + expressions + "]");
    End();
  }
  std::string Take() {
    to_.EndArray();
    return to_.Take();
  }

 private:
  void Field(const char* name, const std::string& value) {
    to_.Key(name);
    to_.String(value);
  }
  void Begin(const char* verb, const char* kind, const char* nameField, const std::string& name) {
    to_.BeginObject();
    Field("do", verb);
    Field("kind", kind);
    Field("family", family_.name);
    if (std::string_view(kind) != "table") Field("table", kTable);
    Field(nameField, name);
  }
  void Types() {
    to_.Key("type");
    to_.Raw(std::string("[\"") + family_.type + "\"]");
    to_.Key("mapType");
    to_.Raw("[\"verdict\"]");
  }
  void End() { to_.EndObject(); }

  const Family& family_;
  json::Writer to_;
};

std::string Load(int offset, int length) {
  return R"({"payload":{"base":"network","offset":)" + std::to_string(offset) + R"(,"length":)" + std::to_string(length) +
         R"(,"dreg":1}})";
}

std::string MatchDestination(const Family& family, const IpPrefix& prefix, const char* op) {
  const std::string length = std::to_string(family.length);
  const std::string zero(static_cast<size_t>(family.length) * 2, '0');
  return Load(family.destination, family.length) + R"(,{"bitwise":{"sreg":1,"dreg":1,"length":)" + length + R"(,"mask":")" +
         MaskOf(prefix) + R"(","xor":")" + zero + R"("}},{"cmp":{"sreg":1,"op":")" + op + R"(","value":")" +
         ToHex(NetworkOf(prefix).bytes()) + R"("}})";
}

constexpr const char* kFailure = "failed to set up masquerading";

std::string SetOf(const Family& family) {
  return std::string(R"("family":")") + family.name + R"(","table":")" + kTable + R"(","set":"pods")";
}

// Keys of the elements of a family that `wanted` says yes to, by their comments.
std::vector<IpAddress> FindPods(const Family& family, const std::function<bool(std::string_view)>& wanted) {
  std::vector<IpAddress> pods;
  for (const std::string& key : FindElements(SetOf(family), wanted))
    if (const auto address = IpAddress::Parse(key)) pods.push_back(*address);
  return pods;
}

constexpr const char* kBaseChain = "postrouting";
constexpr size_t kSubnetRules = 2;
constexpr size_t kBaseRules = 1;
constexpr int kAttempts = 10;

// How the chains of a subnet stand.
enum class Chains { Whole, Absent, Damaged };

size_t CountRules(const Family& family, const std::string& chain) {
  size_t count = 0;
  QueryNft(
      std::string(R"({"kind":"rule","family":")") + family.name + R"(","table":")" + kTable + R"(","chain":")" + chain + R"("})",
      [&](const json::Value&) { ++count; });
  return count;
}

Chains Inspect(const Family& family, const std::string& chain) {
  const size_t base = CountRules(family, kBaseChain);
  const size_t subnet = CountRules(family, chain);
  if (base == kBaseRules && subnet == kSubnetRules) return Chains::Whole;
  return base == 0 && subnet == 0 ? Chains::Absent : Chains::Damaged;
}

// Everything that masquerading of one address needs, where `flush` takes out what stands in the chains.
void Write(Requests& requests, const Family& family, const IpPrefix& address, const std::string& comment, bool flush) {
  const std::string chain = ChainOf({NetworkOf(address), address.length});
  requests.Table();
  requests.Chain(chain, false);
  requests.Chain(kBaseChain, true);
  if (flush) {
    requests.Flush(chain);
    requests.Flush(kBaseChain);
  }
  requests.Rule(chain, MatchDestination(family, address, "eq") + R"(,{"immediate":{"verdict":"accept"}})");
  requests.Rule(chain, MatchDestination(family, family.multicast, "neq") + R"(,{"masq":{}})");
  requests.Map();
  requests.Element("add", address.address, "goto " + chain, comment);
  requests.Rule(kBaseChain, Load(family.source, family.length) + R"(,{"lookup":{"set":"pods","sreg":1,"dreg":0}})");
}

// Adds the address with as little as is needed; false when others changed the ruleset meanwhile or the chains want mending.
bool TryAdd(const Family& family, const IpPrefix& address, const std::string& comment) {
  const std::string chain = ChainOf({NetworkOf(address), address.length});
  const int64_t generation = NftGeneration();
  const Chains chains = Inspect(family, chain);
  if (chains == Chains::Damaged) return false;
  Requests requests(family);
  if (chains == Chains::Whole) {
    requests.Element("add", address.address, "goto " + chain, comment);
  } else {
    Write(requests, family, address, comment, false);
    requests.Generation(generation);  // two that find nothing must not both write the rules
  }
  const auto refusals = TryNft(requests.Take());
  if (refusals.empty()) return true;
  const int error = refusals[0].error;
  if (error != ENOENT && error != ERESTART) ThrowRefusal(refusals[0], kFailure);
  return false;
}

void Delete(const std::vector<IpAddress>& keys) {
  for (const IpAddress& key : keys) {
    Requests requests(FamilyOf(key));
    requests.Element("delete", key, {}, {});
    if (!DeleteNft(requests.Take(), kFailure)) continue;
    DropIfEmpty(std::string(R"("family":")") + FamilyOf(key).name + R"(","name":")" + kTable + R"(")", {SetOf(FamilyOf(key))});
  }
}

template <class Visit>
void ForEachFamily(Visit visit) {
  for (const int length : {4, 16}) visit(FamilyOf(IpAddress{static_cast<uint8_t>(length), {}}));
}

}  // namespace

void Add(const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses) {
  for (const IpPrefix& address : addresses) {
    const Family& family = FamilyOf(address.address);
    bool added = false;
    for (int attempt = 0; attempt < kAttempts && !added; ++attempt) added = TryAdd(family, address, owner.Comment());
    if (added) continue;
    Requests requests(family);
    Write(requests, family, address, owner.Comment(), true);
    CommitNft(requests.Take(), kFailure);
  }
}

// By the owner, not by the address: a DEL that comes late may name an address that is somebody else's by now.
void Remove(const MasqueradeOwner& owner) {
  const std::string comment = owner.Comment();
  ForEachFamily([&](const Family& family) { Delete(FindPods(family, [&](std::string_view text) { return text == comment; })); });
}

void Check(const std::vector<IpPrefix>& addresses) {
  for (const IpPrefix& address : addresses) {
    const Family& family = FamilyOf(address.address);
    const auto keys = FindPods(family, [](std::string_view) { return true; });
    const bool whole = Inspect(family, ChainOf({NetworkOf(address), address.length})) == Chains::Whole;
    if (!whole || std::find(keys.begin(), keys.end(), address.address) == keys.end())
      throw Error(Code::Internal, "masquerading of " + address.address.ToString() + " is gone",
                  std::string("table ") + family.name + " " + kTable +
                      " was changed by somebody else; the next ADD puts its chains back");
  }
}

void Collect(const std::string& network, const std::vector<MasqueradeOwner>& valid) {
  ForEachFamily([&](const Family& family) {
    Delete(FindPods(family, [&](std::string_view text) { return IsStale(text, network, valid); }));
  });
}

}  // namespace trellis::cni::nft
