// Destinations of virtual services, the real servers: what `ipvsadm -a`, `-e` and `-d` take and `-L` shows.
// Guarantees: a destination of another family than its service's is possible where the kernel can do it (tunnel).
#pragma once
#include "netlink/ipvs/service.h"

namespace trellis::netlink {

inline constexpr Name kForwards[] = {{"masq", 0}, {"local", 1}, {"tunnel", 2}, {"route", 3}};
inline constexpr Name kTunnelTypes[] = {{"ipip", 0}, {"gue", 1}, {"gre", 2}};

struct IpvsDestination {
  IpvsServiceKey service;
  Opt<IpAddress> address;
  Opt<Be16> port;
  Opt<uint32_t> forward, weight, upperThreshold, lowerThreshold;
  Opt<uint8_t> tunnelType;
  Opt<Be16> tunnelPort;
  // Told by the kernel only.
  Opt<uint32_t> activeConnections, inactiveConnections, persistentConnections;
  Opt<IpvsStatistics> statistics;

  template <class C>
  void Describe(C& c) {
    c.Plain("address", address);
    c("port", IPVS_DEST_ATTR_PORT, port);
    c.Named("forward", IPVS_DEST_ATTR_FWD_METHOD, forward, kForwards);
    c("weight", IPVS_DEST_ATTR_WEIGHT, weight);
    c("upperThreshold", IPVS_DEST_ATTR_U_THRESH, upperThreshold);
    c("lowerThreshold", IPVS_DEST_ATTR_L_THRESH, lowerThreshold);
    c.Named("tunnelType", IPVS_DEST_ATTR_TUN_TYPE, tunnelType, kTunnelTypes);
    c("tunnelPort", IPVS_DEST_ATTR_TUN_PORT, tunnelPort);
    c("activeConnections", IPVS_DEST_ATTR_ACTIVE_CONNS, activeConnections);
    c("inactiveConnections", IPVS_DEST_ATTR_INACT_CONNS, inactiveConnections);
    c("persistentConnections", IPVS_DEST_ATTR_PERSIST_CONNS, persistentConnections);
    c.PlainObject("statistics", statistics);
  }

  void Check(Verb verb);
  // Appends the service's nest and the destination's.
  void Encode(Batch& batch, bool full);
  // `family` is the service's, for kernels that do not tell the destination's own.
  static IpvsDestination Decode(const MessageView& message, int family);
  std::string Text() const;  // "port 8080 of service tcp 10.0.0.1:80"
};

}  // namespace trellis::netlink
