// One direction of a flow as conntrack sees it: addresses, and the ports or ICMP fields that tell flows apart.
// Guarantees: Decode never looks outside its bytes; a tuple that passed Check has all that the kernel asks for.
#pragma once
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include "netlink/codec.h"

namespace trellis::netlink::conntrack {

inline constexpr Name kFlowFamilies[] = {{"inet", 2}, {"inet6", 10}};
inline constexpr Name kFlowProtocols[] = {{"tcp", IPPROTO_TCP},         {"udp", IPPROTO_UDP},   {"icmp", IPPROTO_ICMP},
                                          {"icmpv6", IPPROTO_ICMPV6},   {"sctp", IPPROTO_SCTP}, {"dccp", IPPROTO_DCCP},
                                          {"udplite", IPPROTO_UDPLITE}, {"gre", IPPROTO_GRE}};

inline bool HasPorts(uint8_t protocol) {
  return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP || protocol == IPPROTO_DCCP ||
         protocol == IPPROTO_UDPLITE || protocol == IPPROTO_GRE;
}
inline bool IsIcmp(uint8_t protocol) { return protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6; }

struct Tuple {
  Opt<IpAddress> source, destination;
  Opt<Be16> sourcePort, destinationPort;  // GRE: the keys
  Opt<uint8_t> icmpType, icmpCode;
  Opt<Be16> icmpId;
  Opt<Be16> zone;  // only where the two directions of a flow are in different zones

  template <class C>
  void Describe(C& c) {
    c.Plain("source", source);
    c.Plain("destination", destination);
    c.Plain("sourcePort", sourcePort);
    c.Plain("destinationPort", destinationPort);
    c.Plain("icmpType", icmpType);
    c.Plain("icmpCode", icmpCode);
    c.Plain("icmpId", icmpId);
    c.Plain("zone", zone);
  }

  // InputError unless the tuple is complete for the protocol; `direction` names it.
  void Check(const char* direction, int family, uint8_t protocol) const;
  void Encode(Batch& batch, uint16_t type, uint8_t protocol) const;
  // `protocol` is left alone where the tuple tells none.
  static Tuple Decode(Bytes bytes, Opt<uint8_t>& protocol);
  // What an answer to this looks like when nothing translates addresses.
  Tuple Inverse(uint8_t protocol) const;
};

}  // namespace trellis::netlink::conntrack
