#include "portmap/rules.h"

#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>

#include <algorithm>

#include "host-local/range.h"

namespace trellis::cni::portmap::nft {

namespace {

// Registers of four bytes each; 8 is the first.
constexpr int kRegister = 8;
constexpr uint32_t kLoopbackIndex = 1;

std::string Quote(const std::string& text) {
  json::Writer to;
  to.String(text);
  return to.Take();
}

std::string Number(int number) { return std::to_string(number); }

// A number as a register holds it: in the host's byte order.
std::string HostOrder(uint32_t number) { return ToHex({reinterpret_cast<const uint8_t*>(&number), sizeof number}); }

std::string MaskOf(const IpPrefix& prefix) {
  std::vector<uint8_t> mask(prefix.address.length);
  for (size_t bit = 0; bit < prefix.length; ++bit) mask[bit / 8] = static_cast<uint8_t>(mask[bit / 8] | 0x80 >> (bit % 8));
  return ToHex(mask);
}

std::string Meta(const char* key, int to) {
  return std::string(R"({"meta":{"key":")") + key + R"(","dreg":)" + Number(to) + "}}";
}

std::string Payload(const char* base, int offset, int length, int to) {
  return std::string(R"({"payload":{"base":")") + base + R"(","offset":)" + Number(offset) + R"(,"length":)" + Number(length) +
         R"(,"dreg":)" + Number(to) + "}}";
}

std::string Bitwise(int length, const std::string& mask, const std::string& exclusiveOr) {
  return R"({"bitwise":{"sreg":8,"dreg":8,"length":)" + Number(length) + R"(,"mask":")" + mask + R"(","xor":")" + exclusiveOr +
         R"("}})";
}

std::string Compare(const char* op, const std::string& value) {
  return std::string(R"({"cmp":{"sreg":8,"op":")") + op + R"(","value":")" + value + R"("}})";
}

std::string MatchAddress(int offset, const IpPrefix& prefix) {
  const int length = prefix.address.length;
  return Payload("network", offset, length, kRegister) + "," +
         Bitwise(length, MaskOf(prefix), std::string(static_cast<size_t>(length) * 2, '0')) + "," +
         Compare("eq", ToHex(NetworkOf(prefix).bytes()));
}

std::string SetMark(uint32_t mark) {
  return Meta("mark", kRegister) + "," + Bitwise(4, HostOrder(~mark), HostOrder(mark)) + R"(,{"meta":{"key":"mark","sreg":8}})";
}

std::string LookUp(const Family& family, const Map& map) {
  const int after = map.byAddress ? kRegister + family.length / 4 : kRegister;
  return (map.byAddress ? Payload("network", family.destination, family.length, kRegister) + "," : "") + Meta("l4proto", after) +
         "," + Payload("transport", 2, 2, after + 1) + R"(,{"lookup":{"set":")" + map.name + R"(","sreg":8,"dreg":)" +
         (map.marks ? "0" : "8") + "}}";
}

std::string Translate(const Family& family) {
  return std::string(R"({"nat":{"type":"dnat","family":")") + family.name + R"(","sregAddrMin":8,"sregProtoMin":)" +
         Number(kRegister + family.length / 4) + "}}";
}

const std::string kToPublish = R"({"fib":{"flags":["daddr"],"result":"type","dreg":8}},)" + Compare("eq", HostOrder(RTN_LOCAL)) +
                               R"(,{"immediate":{"verdict":"jump publish"}})";

// Names may hold letters, digits, dots, slashes and underscores.
std::string MarkChain(const Config& config, const IpPrefix& container) {
  std::string name = config.masqAll ? "all" : "from_" + IpPrefix{NetworkOf(container), container.length}.ToString();
  std::replace(name.begin(), name.end(), ':', '_');
  std::replace(name.begin(), name.end(), '/', '_');
  return name + "_" + std::to_string(config.markBit);
}

Chain MarkChainWithRules(const Family& family, const Config& config, const IpPrefix& container) {
  Chain chain{MarkChain(config, container), {}, 0, {}};
  if (config.masqAll) chain.rules = {SetMark(config.Mark())};
  else chain.rules = {MatchAddress(family.source, container) + "," + SetMark(config.Mark())};
  if (!config.masqAll && !family.isV6)
    chain.rules.push_back(MatchAddress(family.source, family.loopback) + "," + SetMark(config.Mark()));
  return chain;
}

std::string TypesOf(const Family& family, const Map& map) {
  const std::string type = std::string("\"") + family.type + "\"";
  return R"("type":[)" + (map.byAddress ? type + "," : "") + R"("inet_proto","inet_service"],"mapType":[)" +
         (map.marks ? "\"verdict\"" : type + R"(,"inet_service")") + "]";
}

std::string AddElement(const Family& family, const Element& element, const std::string& comment) {
  return R"({"do":"add","kind":"element",)" + NameOf(family, *element.map) + "," + TypesOf(family, *element.map) +
         R"(,"elements":[{"key":)" + Quote(element.key) + (element.map->marks ? R"(,"verdict":)" : R"(,"data":)") +
         Quote(element.value) + R"(,"comment":)" + Quote(comment) + "}]}";
}

}  // namespace

const Family& FamilyOf(bool v6) {
  static const Family four{false, "ip", "ipv4_addr", 12, 16, 4, *IpPrefix::Parse("127.0.0.0/8")};
  static const Family six{true, "ip6", "ipv6_addr", 8, 24, 16, *IpPrefix::Parse("::1/128")};
  return v6 ? six : four;
}

std::string NameOf(const Family& family, const Map& map) {
  return std::string(R"("family":")") + family.name + R"(","table":")" + kTable + R"(","set":")" + map.name + R"(")";
}

std::vector<Element> ElementsOf(const Config& config, const Publication& publication) {
  const std::string port = publication.protocol + " . " + std::to_string(publication.hostPort);
  std::vector<Element> elements;
  for (const Map& map : kMaps) {
    if (map.byAddress != publication.hostIp.has_value() || (map.marks && !config.snat)) continue;
    elements.push_back({&map, map.byAddress ? publication.hostIp->ToString() + " . " + port : port,
                        map.marks
                            ? "jump " + MarkChain(config, publication.container)
                            : publication.container.address.ToString() + " . " + std::to_string(publication.containerPort)});
  }
  return elements;
}

std::vector<Chain> ChainsOf(const Family& family, const Config& config, const std::vector<Publication>& publications) {
  const auto& [ports, portsMasq, addresses, addressesMasq] = kMaps;
  std::vector<Chain> chains;
  if (config.snat) {
    chains.push_back(MarkChainWithRules(family, config, publications[0].container));
    const std::string mark = HostOrder(config.Mark());
    chains.push_back(
        {"postrouting_" + std::to_string(config.markBit),
         "postrouting",
         NF_IP_PRI_NAT_SRC,
         {Meta("mark", kRegister) + "," + Bitwise(4, mark, HostOrder(0)) + "," + Compare("eq", mark) + R"(,{"masq":{}})"}});
  }
  chains.push_back({"publish",
                    {},
                    0,
                    {LookUp(family, addressesMasq), LookUp(family, addresses) + "," + Translate(family),
                     LookUp(family, portsMasq), LookUp(family, ports) + "," + Translate(family)}});
  const std::string toLoopback = MatchAddress(family.destination, family.loopback);
  Chain prerouting{"prerouting", "prerouting", NF_IP_PRI_NAT_DST, {kToPublish}},
      output{"output", "output", NF_IP_PRI_NAT_DST, {kToPublish}};
  if (family.isV6) output.rules.insert(output.rules.begin(), toLoopback + R"(,{"immediate":{"verdict":"return"}})");
  else
    prerouting.rules.insert(prerouting.rules.begin(), Meta("iif", kRegister) + "," + Compare("neq", HostOrder(kLoopbackIndex)) +
                                                          "," + toLoopback + R"(,{"immediate":{"verdict":"drop"}})");
  chains.push_back(std::move(prerouting));
  chains.push_back(std::move(output));
  return chains;
}

std::string DigestOf(const std::string& rule) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const unsigned char c : rule) hash = (hash ^ c) * 16777619u;
  return ToHex({reinterpret_cast<const uint8_t*>(&hash), sizeof hash});
}

std::string DestroyElement(const Family& family, const Map& map, const std::string& key) {
  return R"({"do":"destroy","kind":"element",)" + NameOf(family, map) + "," + TypesOf(family, map) + R"(,"elements":[{"key":)" +
         Quote(key) + "}]}";
}

std::vector<std::string> AddRequests(const Owner& owner, const Config& config, const std::vector<Publication>& publications,
                                     const Present& present) {
  const Family& family = FamilyOf(publications.at(0).IsV6());
  const std::string in = std::string(R"("family":")") + family.name + R"(","table":")" + kTable + R"(")";
  std::vector<std::string> requests = {std::string(R"({"do":"add","kind":"table","family":")") + family.name + R"(","name":")" +
                                       kTable + R"("})"};
  for (const Map& map : kMaps)
    requests.push_back(R"({"do":"add","kind":"set",)" + in + R"(,"name":")" + map.name + R"(",)" + TypesOf(family, map) + "}");
  for (const Chain& chain : ChainsOf(family, config, publications)) {
    if (present.chains.contains(chain.name)) continue;
    const std::string name = R"("kind":"chain",)" + in + R"(,"name":)" + Quote(chain.name);
    const std::string base = R"(,"type":"nat","hook":")" + chain.hook + R"(","priority":)" + Number(chain.priority);
    requests.push_back(R"({"do":"add",)" + name + (chain.hook.empty() ? "" : base) + "}");
    requests.push_back(R"({"do":"flush",)" + name + "}");
    for (const std::string& rule : chain.rules)
      requests.push_back(R"({"do":"add","kind":"rule",)" + in + R"(,"chain":)" + Quote(chain.name) + R"(,"comment":")" +
                         DigestOf(rule) + R"(","expressions":[)" + rule + "]}");
  }
  for (const Publication& publication : publications) {
    // Whatever had this port is gone or gives way, with its mark also where we set none.
    const std::string key = ElementsOf(config, publication)[0].key;
    for (const Map& map : kMaps)
      if (present.keys.contains({&map, key})) requests.push_back(DestroyElement(family, map, key));
    for (const Element& element : ElementsOf(config, publication))
      requests.push_back(AddElement(family, element, owner.Comment()));
  }
  return requests;
}

}  // namespace trellis::cni::portmap::nft
