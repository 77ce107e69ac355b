// Routes: what `ip route` adds and shows.
// Guarantees: "default" is written as 0.0.0.0/0 or ::/0; table numbers of any size.
#pragma once
#include <linux/rtnetlink.h>

#include "netlink/codec.h"
#include "netlink/route/address.h"
#include "netlink/verb.h"

namespace trellis::netlink {

inline constexpr Name kRouteTypes[] = {
    {"unicast", RTN_UNICAST},         {"local", RTN_LOCAL},         {"broadcast", RTN_BROADCAST},
    {"anycast", RTN_ANYCAST},         {"multicast", RTN_MULTICAST}, {"blackhole", RTN_BLACKHOLE},
    {"unreachable", RTN_UNREACHABLE}, {"prohibit", RTN_PROHIBIT},   {"throw", RTN_THROW}};
inline constexpr Name kRouteProtocols[] = {{"unspec", RTPROT_UNSPEC}, {"redirect", RTPROT_REDIRECT}, {"kernel", RTPROT_KERNEL},
                                           {"boot", RTPROT_BOOT},     {"static", RTPROT_STATIC},     {"ra", RTPROT_RA},
                                           {"dhcp", RTPROT_DHCP},     {"bird", RTPROT_BIRD}};
inline constexpr Name kRouteTables[] = {
    {"unspec", RT_TABLE_UNSPEC}, {"default", RT_TABLE_DEFAULT}, {"main", RT_TABLE_MAIN}, {"local", RT_TABLE_LOCAL}};

struct NextHop {
  Opt<IpAddress> gateway;
  Opt<LinkRef> dev;
  Opt<uint16_t> weight;  // 1 to 256
  Opt<bool> onlink;

  template <class C>
  void Describe(C& c) {
    c.Plain("gateway", gateway);
    c.Plain("dev", dev);
    c.Plain("weight", weight);
    c.Plain("onlink", onlink);
  }
};

struct RouteMetrics {
  Opt<uint32_t> mtu, advmss, window, rtt, initcwnd, initrwnd, hoplimit, lock;

  template <class C>
  void Describe(C& c) {
    c("mtu", RTAX_MTU, mtu);
    c("advmss", RTAX_ADVMSS, advmss);
    c("window", RTAX_WINDOW, window);
    c("rtt", RTAX_RTT, rtt);
    c("initcwnd", RTAX_INITCWND, initcwnd);
    c("initrwnd", RTAX_INITRWND, initrwnd);
    c("hoplimit", RTAX_HOPLIMIT, hoplimit);
    c("lock", RTAX_LOCK, lock);
  }
};

struct Route {
  Opt<std::string> family;  // only to tell a "default" without a gateway
  Opt<IpPrefix> destination, source;
  Opt<IpAddress> gateway, preferredSource;
  Opt<LinkRef> dev;
  Opt<uint32_t> table, metric;
  Opt<uint8_t> type, scope, protocol, tos;
  Opt<bool> onlink;
  Opt<RouteMetrics> metrics;
  std::vector<NextHop> nextHops;

  template <class C>
  void Describe(C& c) {
    c.Plain("family", family);
    c.Plain("destination", destination);
    c.Plain("source", source);
    c.Plain("gateway", gateway);
    c("preferredSource", RTA_PREFSRC, preferredSource);
    c("dev", RTA_OIF, dev);
    c.Named("table", RTA_TABLE, table, kRouteTables);
    c("metric", RTA_PRIORITY, metric);
    c.PlainNamed("type", type, kRouteTypes);
    c.PlainNamed("scope", scope, kScopes);
    c.PlainNamed("protocol", protocol, kRouteProtocols);
    c.Plain("tos", tos);
    c.Plain("onlink", onlink);
    c.Nest("metrics", RTA_METRICS, metrics);
    c.PlainList("nextHops", nextHops);
  }

  int Family() const;
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Route Decode(const MessageView& message);
};

}  // namespace trellis::netlink
