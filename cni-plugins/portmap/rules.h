// The chains and maps of portmap as requests to nf_tables. Pure: makes text, touches nothing.
//
// table ip trellis_portmap {
//   map ports          { type inet_proto . inet_service : ipv4_addr . inet_service; elements = { tcp . 8080 : 10.1.0.5 . 80 } }
//   map ports_masq     { type inet_proto . inet_service : verdict; elements = { tcp . 8080 : jump from_10.1.0.0_16_13 } }
//   map addresses      { type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service }
//   map addresses_masq { type ipv4_addr . inet_proto . inet_service : verdict }
//   chain from_10.1.0.0_16_13 { ip saddr 10.1.0.0/16 mark |= 0x2000; ip saddr 127.0.0.0/8 mark |= 0x2000 }
//   chain publish      { vmap @addresses_masq; dnat to @addresses; vmap @ports_masq; dnat to @ports }
//   chain prerouting   { type nat hook prerouting priority dstnat; iif != lo ip daddr 127.0.0.0/8 drop; fib daddr type local jump
//   publish } chain output       { type nat hook output priority dstnat; fib daddr type local jump publish } chain postrouting_13
//   { type nat hook postrouting priority srcnat; mark & 0x2000 masquerade }
// }
// and nearly the same for ip6. The drop in prerouting is for route_localnet: it lets localhost out, and this lets nobody
// in. IPv6 has no route_localnet: answers never find back to ::1, so output leaves ::1 alone and clients are refused at
// once instead of waiting.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cni/owner.h"
#include "portmap/config.h"

namespace trellis::cni::portmap::nft {

inline constexpr const char* kTable = "trellis_portmap";

// What differs between the families.
struct Family {
  bool isV6;
  const char* name;
  const char* type;
  int source, destination, length;  // of addresses in the header
  IpPrefix loopback;
};
const Family& FamilyOf(bool v6);

// A map; those that mark are verdict maps.
struct Map {
  const char* name;
  bool byAddress, marks;
};
inline constexpr Map kMaps[] = {
    {"ports", false, false}, {"ports_masq", false, true}, {"addresses", true, false}, {"addresses_masq", true, true}};

// The members that name a map: "family":…,"table":…,"set":….
std::string NameOf(const Family& family, const Map& map);

struct Element {
  const Map* map;
  std::string key, value;  // value: a verdict or an address and port
};
std::vector<Element> ElementsOf(const Config& config, const Publication& publication);

// Every chain that an ADD writes, with its rules.
struct Chain {
  std::string name, hook;  // hook "" is a chain to jump to
  int priority = 0;
  std::vector<std::string> rules;
};
std::vector<Chain> ChainsOf(const Family& family, const Config& config, const std::vector<Publication>& publications);

// The comment of a rule: a digest by which it is known to be the one that this version writes.
std::string DigestOf(const std::string& rule);

std::string DestroyElement(const Family& family, const Map& map, const std::string& key);

// What an ADD need not write or must replace. Deleting makes the kernel wait for its readers, which takes longer than all
// the rest, so chains are flushed and keys destroyed only where there is a reason.
struct Present {
  std::set<std::string> chains;                       // those that are as they should be
  std::set<std::pair<const Map*, std::string>> keys;  // taken already
};
// The transaction of an ADD, which leaves the family's table whole.
std::vector<std::string> AddRequests(const Owner& owner, const Config& config, const std::vector<Publication>& publications,
                                     const Present& present);

}  // namespace trellis::cni::portmap::nft
