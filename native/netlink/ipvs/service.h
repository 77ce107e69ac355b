// Virtual services: what `ipvsadm -A`, `-E` and `-D` take and `-L` shows.
// Guarantees: IPv4, IPv6 and firewall marks alike; fields left out get ipvsadm's defaults.
#pragma once
#include <linux/ip_vs.h>

#include "netlink/codec.h"
#include "netlink/generic.h"
#include "netlink/verb.h"

namespace trellis::netlink {

inline constexpr Name kIpvsFamilies[] = {{"inet", 2}, {"inet6", 10}};
inline constexpr Name kIpvsProtocols[] = {{"tcp", 6}, {"udp", 17}, {"sctp", 132}};

// A number of 32 or 64 bits on the wire: which of the two depends on the kernel's age.
struct Counter {
  uint64_t value = 0;
};
inline void ReadJson(const json::Value& from, std::string_view name, Counter& to) { ReadJson(from, name, to.value); }
inline void WriteJson(json::Writer& to, const Counter& from) { to.Unsigned(from.value); }
inline void GetAttribute(Bytes from, Counter& to) {
  to.value = from.size() >= sizeof(uint64_t) ? ReadValue<uint64_t>(from) : ReadValue<uint32_t>(from);
}
inline void PutAttribute(Batch& to, uint16_t type, const Counter& from) { to.PutValue(type, from.value); }

struct IpvsStatistics {
  Opt<Counter> connections, inPackets, outPackets, inBytes, outBytes;
  Opt<Counter> connectionsPerSecond, inPacketsPerSecond, outPacketsPerSecond, inBytesPerSecond, outBytesPerSecond;

  template <class C>
  void Describe(C& c) {
    c("connections", IPVS_STATS_ATTR_CONNS, connections);
    c("inPackets", IPVS_STATS_ATTR_INPKTS, inPackets);
    c("outPackets", IPVS_STATS_ATTR_OUTPKTS, outPackets);
    c("inBytes", IPVS_STATS_ATTR_INBYTES, inBytes);
    c("outBytes", IPVS_STATS_ATTR_OUTBYTES, outBytes);
    c("connectionsPerSecond", IPVS_STATS_ATTR_CPS, connectionsPerSecond);
    c("inPacketsPerSecond", IPVS_STATS_ATTR_INPPS, inPacketsPerSecond);
    c("outPacketsPerSecond", IPVS_STATS_ATTR_OUTPPS, outPacketsPerSecond);
    c("inBytesPerSecond", IPVS_STATS_ATTR_INBPS, inBytesPerSecond);
    c("outBytesPerSecond", IPVS_STATS_ATTR_OUTBPS, outBytesPerSecond);
  }
};

// The 64-bit statistics where the kernel has them (Linux 4.1), else the others.
Opt<IpvsStatistics> GetStatistics(const AttributeTable& table, uint16_t wide, uint16_t narrow);

// An address in the sixteen bytes that IPVS always gives it.
void PutIpvsAddress(Batch& batch, uint16_t type, const IpAddress& address);
Opt<IpAddress> GetIpvsAddress(const AttributeTable& table, uint16_t type, int family);

// What tells one service from another: protocol, address and port, or a firewall mark of a family.
struct IpvsServiceKey {
  Opt<uint16_t> protocol, family;
  Opt<IpAddress> address;
  Opt<Be16> port;
  Opt<uint32_t> fwmark;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kIpvsFamilies);
    c.PlainNamed("protocol", protocol, kIpvsProtocols);
    c.Plain("address", address);
    c.Plain("port", port);
    c.Plain("fwmark", fwmark);
  }

  // Throws InputError; leaves the family filled in.
  void Check();
  void Encode(Batch& batch) const;  // inside the service's nest
  static IpvsServiceKey Decode(const AttributeTable& table);
  std::string Text() const;  // "tcp 10.0.0.1:80"
};

struct IpvsService {
  IpvsServiceKey key;
  Opt<std::string> scheduler, persistenceEngine;
  Opt<std::vector<std::string>> flags;
  Opt<uint32_t> persistence;       // seconds; a service without it is not persistent
  Opt<uint8_t> persistencePrefix;  // clients of one such network go to the same destination
  Opt<IpvsStatistics> statistics;

  template <class C>
  void Describe(C& c) {
    key.Describe(c);
    c("scheduler", IPVS_SVC_ATTR_SCHED_NAME, scheduler);
    c("persistenceEngine", IPVS_SVC_ATTR_PE_NAME, persistenceEngine);
    c.Plain("flags", flags);
    c.Plain("persistence", persistence);
    c.Plain("persistencePrefix", persistencePrefix);
    c.PlainObject("statistics", statistics);
  }

  void Check(Verb verb);
  // With `full` everything, without only what finds the service.
  void Encode(Batch& batch, bool full);
  static IpvsService Decode(const MessageView& message);
};

}  // namespace trellis::netlink
