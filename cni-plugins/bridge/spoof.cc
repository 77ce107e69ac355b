// table bridge trellis_cni {
//   set ports   { type ifname; elements = { vethab comment "network container eth0" } }
//   set senders { type ifname . ether_addr; elements = { vethab . 02:.. comment "…" } }
//   set guarded { type ifname; … }                                 ports whose addresses are checked too
//   set sources { type ifname . ether_addr . ipv4_addr; … }        and sources6 with ipv6_addr
//   chain prerouting { type filter hook prerouting priority -300; what may be sent most: iifname . ether saddr . ip saddr
//   @sources accept
//                      and the same of IPv6 without ICMPv6; iifname @ports iifname . ether saddr != @senders drop
//                      iifname @guarded goto addresses }
//   chain addresses  { what its own addresses send, say of themselves by ARP or neighbour discovery, or probe for: accept; drop }
// }
// An ADD that finds the chains whole adds elements alone, since deleting anything makes the kernel wait for a grace period.
#include "bridge/spoof.h"

#include <functional>

#include "base/json.h"
#include "cni/nft.h"

namespace trellis::cni {

namespace {

const std::string kBase = R"("family":"bridge","table":"trellis_cni")";
constexpr const char* kFailure = "failed to set up the spoof check";

struct Set {
  const char* name;
  const char* type;
};
constexpr Set kPorts{"ports", R"("type":["ifname"])"};
constexpr Set kSenders{"senders", R"("type":["ifname","ether_addr"])"};
constexpr Set kGuarded{"guarded", R"("type":["ifname"])"};
constexpr Set kSources{"sources", R"("type":["ifname","ether_addr","ipv4_addr"])"};
constexpr Set kSources6{"sources6", R"("type":["ifname","ether_addr","ipv6_addr"])"};
constexpr Set kSets[] = {kPorts, kSenders, kGuarded, kSources, kSources6};

std::string Quote(const std::string& text) {
  json::Writer to;
  to.String(text);
  return to.Take();
}

std::string Element(const char* verb, const Set& set, const std::string& key, const std::string& comment) {
  return std::string(R"({"do":")") + verb + R"(","kind":"element",)" + kBase + R"(,"set":")" + set.name + R"(",)" + set.type +
         R"(,"elements":[{"key":)" + Quote(key) + (comment.empty() ? "" : std::string(R"(,"comment":)").append(Quote(comment))) +
         "}]}";
}

std::string Join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ",") + part;
  return joined;
}

// ---- parts of rules: the interface's name takes register 1, a hardware address register 2, an address the bytes behind it

std::string Payload(const char* base, int offset, int length, int reg) {
  return std::string(R"({"payload":{"base":")") + base + R"(","offset":)" + std::to_string(offset) + R"(,"length":)" +
         std::to_string(length) + R"(,"dreg":)" + std::to_string(reg) + "}}";
}
std::string Equals(const std::string& hex) { return R"({"cmp":{"sreg":1,"op":"eq","value":")" + hex + R"("}})"; }
std::string Differs(const std::string& hex) { return R"({"cmp":{"sreg":1,"op":"neq","value":")" + hex + R"("}})"; }
std::string Lookup(const Set& set, bool isIn) {
  return std::string(R"({"lookup":{"set":")") + set.name + R"(","sreg":1)" + (isIn ? "" : R"(,"flags":["invert"])") + "}}";
}
std::string Verdict(const char* verdict) { return std::string(R"({"immediate":{"verdict":")") + verdict + R"("}})"; }

constexpr int kMac = 2;
constexpr int kAddress = 14;
constexpr const char* kArpOfEthernetAndIp = "000108000604";
const std::string kPort = R"({"meta":{"key":"iifname","dreg":1}})";
const std::string kSenderMac = Payload("link", 6, 6, kMac);
const std::string kAccept = Verdict("accept");
const std::string kDrop = R"({"counter":{}},)" + Verdict("drop");

// As the frame says itself. The kernel's own idea of a frame looks behind a tag, whose IP no other hook of a bridge sees: behind
// tag 0 it would reach a neighbour's stack unjudged. So what is tagged is neither IP nor ARP here.
std::string IsProtocol(const char* hex) { return Payload("link", 12, 2, 1) + "," + Equals(hex); }
std::string IsIcmp6(const char* type) {
  return R"({"meta":{"key":"l4proto","dreg":1}},)" + Equals("3a") + "," + Payload("transport", 0, 1, 1) + "," + Equals(type);
}

std::string OwnSource() {
  return Join({IsProtocol("0800"), kPort, kSenderMac, Payload("network", 12, 4, kAddress), Lookup(kSources, true), kAccept});
}
std::string OwnSource6() {
  return Join({kPort, kSenderMac, Payload("network", 8, 16, kAddress), Lookup(kSources6, true), kAccept});
}

// Of neighbour solicitations and advertisements: the address that they are about is the sender's own.
std::string Target(bool isOwn) {
  return Join({kPort, kSenderMac, Payload("transport", 8, 16, kAddress), Lookup(kSources6, isOwn)});
}

// The source of every packet is checked, so the packets of connections meet as little as can be: one look-up. Whoever is in
// sources is in ports, senders and guarded too, so that the chain would accept it in the end.
std::vector<std::string> PortRules() {
  return {OwnSource(), Join({IsProtocol("86dd"), R"({"meta":{"key":"l4proto","dreg":1}})", Differs("3a"), OwnSource6()}),
          Join({kPort, Lookup(kPorts, true), kPort, kSenderMac, Lookup(kSenders, false), Verdict("drop")}),
          Join({kPort, Lookup(kGuarded, true), Verdict("goto addresses")})};
}

std::vector<std::string> AddressRules() {
  const std::string isArp = Join({IsProtocol("0806"), Payload("network", 0, 6, 1), Equals(kArpOfEthernetAndIp)});
  const std::string arpMac = Payload("network", 8, 6, kMac);
  const std::string isIp6 = IsProtocol("86dd");
  const std::string fromNowhere = Join({isIp6, Payload("network", 8, 16, 1), Equals(std::string(32, '0'))});
  return {
      Join({isArp, kPort, arpMac, Payload("network", 14, 4, kAddress), Lookup(kSources, true), kAccept}),
      // A probe says nothing of its sender.
      Join({isArp, Payload("network", 14, 4, 1), Equals("00000000"), kPort, arpMac, Lookup(kSenders, true), kAccept}),
      // Router advertisements and redirects are no pod's to send.
      Join({isIp6, IsIcmp6("86"), kDrop}),
      Join({isIp6, IsIcmp6("89"), kDrop}),
      Join({isIp6, IsIcmp6("88"), Target(false), kDrop}),
      Join({isIp6, OwnSource6()}),
      // Duplicate address detection, and what multicast groups a link that has no address yet listens to.
      Join({fromNowhere, IsIcmp6("87"), Target(true), kAccept}),
      Join({fromNowhere, IsIcmp6("8f"), kAccept}),
      kDrop,
  };
}

// ---- the table

std::string ChainOf(const char* name) { return R"("kind":"chain",)" + kBase + R"(,"name":")" + name + R"(")"; }

void AppendRules(std::vector<std::string>& requests, const char* chain, const std::vector<std::string>& rules) {
  for (const std::string& rule : rules)
    requests.push_back(R"({"do":"add","kind":"rule",)" + kBase + R"(,"chain":")" + chain + R"(","expressions":[)" + rule + "]}");
}

std::vector<std::string> Table() {
  std::vector<std::string> requests = {R"({"do":"add","kind":"table","family":"bridge","name":"trellis_cni"})"};
  for (const Set& set : kSets)
    requests.push_back(R"({"do":"add","kind":"set",)" + kBase + R"(,"name":")" + set.name + R"(",)" + set.type + "}");
  requests.push_back(R"({"do":"add",)" + ChainOf("addresses") + "}");
  requests.push_back(R"({"do":"add",)" + ChainOf("prerouting") + R"(,"type":"filter","hook":"prerouting","priority":-300})");
  for (const char* chain : {"prerouting", "addresses"}) requests.push_back(R"({"do":"flush",)" + ChainOf(chain) + "}");
  AppendRules(requests, "addresses", AddressRules());
  AppendRules(requests, "prerouting", PortRules());
  return requests;
}

bool HasRules(const char* chain, size_t count) {
  size_t found = 0;
  QueryNft(R"({"kind":"rule",)" + kBase + R"(,"chain":")" + chain + R"("})", [&](const json::Value&) { ++found; });
  return found == count;
}

// The address that the kernel makes of a hardware address, RFC 4291 appendix A.
IpAddress LinkLocal(const HardwareAddress& mac) {
  const auto& from = mac.octets;
  IpAddress address = *IpAddress::Parse("fe80::ff:fe00:0");
  address.octets[8] = from[0] ^ 2;
  address.octets[9] = from[1];
  address.octets[10] = from[2];
  address.octets[13] = from[3];
  address.octets[14] = from[4];
  address.octets[15] = from[5];
  return address;
}

void RemoveAllWhere(const std::function<bool(std::string_view)>& wanted) {
  std::vector<std::string> requests;
  for (const Set& set : kSets)
    for (const std::string& key : FindElements(kBase + R"(,"set":")" + set.name + R"(")", wanted))
      requests.push_back(Element("destroy", set, key, {}));
  if (requests.empty()) return;
  DeleteNft("[" + Join(requests) + "]", kFailure);
  DropIfEmpty(R"("family":"bridge","name":"trellis_cni")", {kBase + R"(,"set":"senders")"});
}

}  // namespace

void AddSpoofCheck(const MasqueradeOwner& owner, const GuardedPort& port) {
  const std::string comment = owner.Comment();
  const std::string sender = port.name + " . " + port.mac.ToString();
  std::vector<std::string> elements = {Element("add", kPorts, port.name, comment), Element("add", kSenders, sender, comment)};
  if (port.addresses) {
    elements.push_back(Element("add", kGuarded, port.name, comment));
    elements.push_back(Element("add", kSources6, sender + " . " + LinkLocal(port.mac).ToString(), comment));
    for (const IpPrefix& address : *port.addresses)
      elements.push_back(Element("add", address.address.length == 4 ? kSources : kSources6,
                                 sender + " . " + address.address.ToString(), comment));
  }
  const bool isWhole = HasRules("prerouting", PortRules().size()) && HasRules("addresses", AddressRules().size());
  if (isWhole && TryNft("[" + Join(elements) + "]").empty()) return;
  std::vector<std::string> requests = Table();
  requests.insert(requests.end(), elements.begin(), elements.end());
  CommitNft("[" + Join(requests) + "]", kFailure);
}

void RemoveSpoofCheck(const MasqueradeOwner& owner) {
  const std::string comment = owner.Comment();
  RemoveAllWhere([&](std::string_view text) { return text == comment; });
}

void CollectSpoofChecks(const std::string& network, const std::vector<MasqueradeOwner>& valid) {
  RemoveAllWhere([&](std::string_view text) { return IsStale(text, network, valid); });
}

}  // namespace trellis::cni
