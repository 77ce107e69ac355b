// Policy routing rules: what `ip rule` adds and shows.
// Guarantees: IPv4 and IPv6 alike; a rule without a table or action is refused before it is sent.
#pragma once
#include <linux/fib_rules.h>

#include "netlink/codec.h"
#include "netlink/route/route.h"
#include "netlink/verb.h"

namespace trellis::netlink {

inline constexpr Name kRuleActions[] = {{"table", FR_ACT_TO_TBL},
                                        {"goto", FR_ACT_GOTO},
                                        {"nop", FR_ACT_NOP},
                                        {"blackhole", FR_ACT_BLACKHOLE},
                                        {"unreachable", FR_ACT_UNREACHABLE},
                                        {"prohibit", FR_ACT_PROHIBIT}};
inline constexpr Name kFamilies[] = {{"inet", 2}, {"inet6", 10}, {"bridge", 7}};

// "53" or "8000-8080".
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;
};
void ReadJson(const json::Value& from, std::string_view name, PortRange& to);
void WriteJson(json::Writer& to, const PortRange& from);
inline void PutAttribute(Batch& to, uint16_t type, const PortRange& from) { to.PutValue(type, from); }
inline void GetAttribute(Bytes from, PortRange& to) { to = ReadValue<PortRange>(from); }

struct Rule {
  Opt<uint8_t> family, action, tos, ipProtocol, protocol;
  Opt<uint32_t> priority, table, mark, mask, suppressPrefixLength, gotoPriority;
  Opt<IpPrefix> source, destination;
  Opt<std::string> inputInterface, outputInterface;
  Opt<PortRange> sourcePort, destinationPort;
  Opt<bool> invert;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kFamilies);
    c("priority", FRA_PRIORITY, priority);
    c.PlainNamed("action", action, kRuleActions);
    c.Named("table", FRA_TABLE, table, kRouteTables);
    c("goto", FRA_GOTO, gotoPriority);
    c("mark", FRA_FWMARK, mark);
    c("mask", FRA_FWMASK, mask);
    c.Plain("source", source);
    c.Plain("destination", destination);
    c("inputInterface", FRA_IIFNAME, inputInterface);
    c("outputInterface", FRA_OIFNAME, outputInterface);
    c("ipProtocol", FRA_IP_PROTO, ipProtocol);
    c("sourcePort", FRA_SPORT_RANGE, sourcePort);
    c("destinationPort", FRA_DPORT_RANGE, destinationPort);
    c.Named("protocol", FRA_PROTOCOL, protocol, kRouteProtocols);
    c("suppressPrefixLength", FRA_SUPPRESS_PREFIXLEN, suppressPrefixLength);
    c.Plain("tos", tos);
    c.Plain("invert", invert);
  }

  int Family() const;
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Rule Decode(const MessageView& message);
};

}  // namespace trellis::netlink
