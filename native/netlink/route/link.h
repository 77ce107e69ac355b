// Links: what `ip link` makes, changes and shows.
// Guarantees: a veth's peer and its namespace travel in the one message that creates the pair.
#pragma once
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "netlink/codec.h"
#include "netlink/verb.h"

namespace trellis::netlink {

// Where a link is created in or moved to: a path, or a process whose namespace is meant.
struct NetNsRef {
  std::string path;
  int pid = 0;
};
void ReadJson(const json::Value& from, std::string_view name, NetNsRef& to);
inline void WriteJson(json::Writer& to, const NetNsRef& from) {
  if (from.path.empty()) to.Integer(from.pid);
  else to.String(from.path);
}

inline constexpr Name kVxlanDf[] = {{"unset", VXLAN_DF_UNSET}, {"set", VXLAN_DF_SET}, {"inherit", VXLAN_DF_INHERIT}};
inline constexpr Name kMacvlanModes[] = {{"private", MACVLAN_MODE_PRIVATE},
                                         {"vepa", MACVLAN_MODE_VEPA},
                                         {"bridge", MACVLAN_MODE_BRIDGE},
                                         {"passthru", MACVLAN_MODE_PASSTHRU},
                                         {"source", MACVLAN_MODE_SOURCE}};
inline constexpr Name kPortStates[] = {{"disabled", BR_STATE_DISABLED},
                                       {"listening", BR_STATE_LISTENING},
                                       {"learning", BR_STATE_LEARNING},
                                       {"forwarding", BR_STATE_FORWARDING},
                                       {"blocking", BR_STATE_BLOCKING}};
inline constexpr Name kOperStates[] = {{"unknown", 0}, {"notpresent", 1}, {"down", 2}, {"lowerlayerdown", 3},
                                       {"testing", 4}, {"dormant", 5},    {"up", 6}};

struct BridgeOptions {
  Opt<uint32_t> forwardDelay, helloTime, maxAge, ageingTime, stpState, mcastHashMax;
  Opt<uint16_t> priority, groupFwdMask;
  Opt<Be16> vlanProtocol;
  Opt<uint8_t> mcastRouter;
  Opt<bool> vlanFiltering, mcastSnooping, mcastQuerier, nfCallIptables, nfCallIp6tables, nfCallArptables;
  Opt<uint16_t> vlanDefaultPvid;

  template <class C>
  void Describe(C& c) {
    c("forwardDelay", IFLA_BR_FORWARD_DELAY, forwardDelay);
    c("helloTime", IFLA_BR_HELLO_TIME, helloTime);
    c("maxAge", IFLA_BR_MAX_AGE, maxAge);
    c("ageingTime", IFLA_BR_AGEING_TIME, ageingTime);
    c("stpState", IFLA_BR_STP_STATE, stpState);
    c("priority", IFLA_BR_PRIORITY, priority);
    c("groupFwdMask", IFLA_BR_GROUP_FWD_MASK, groupFwdMask);
    c("vlanFiltering", IFLA_BR_VLAN_FILTERING, vlanFiltering);
    c("vlanProtocol", IFLA_BR_VLAN_PROTOCOL, vlanProtocol);
    c("vlanDefaultPvid", IFLA_BR_VLAN_DEFAULT_PVID, vlanDefaultPvid);
    c("mcastSnooping", IFLA_BR_MCAST_SNOOPING, mcastSnooping);
    c("mcastRouter", IFLA_BR_MCAST_ROUTER, mcastRouter);
    c("mcastQuerier", IFLA_BR_MCAST_QUERIER, mcastQuerier);
    c("mcastHashMax", IFLA_BR_MCAST_HASH_MAX, mcastHashMax);
    c("nfCallIptables", IFLA_BR_NF_CALL_IPTABLES, nfCallIptables);
    c("nfCallIp6tables", IFLA_BR_NF_CALL_IP6TABLES, nfCallIp6tables);
    c("nfCallArptables", IFLA_BR_NF_CALL_ARPTABLES, nfCallArptables);
  }
};

// What a bridge knows of one of its ports.
struct BridgePort {
  Opt<uint8_t> state;
  Opt<uint16_t> priority;
  Opt<uint32_t> cost;
  Opt<bool> hairpin, isolated, learning, flood, mcastFlood, bcastFlood, guard, fastLeave, proxyArp, neighSuppress;

  template <class C>
  void Describe(C& c) {
    c.Named("state", IFLA_BRPORT_STATE, state, kPortStates);
    c("priority", IFLA_BRPORT_PRIORITY, priority);
    c("cost", IFLA_BRPORT_COST, cost);
    c("hairpin", IFLA_BRPORT_MODE, hairpin);
    c("isolated", IFLA_BRPORT_ISOLATED, isolated);
    c("learning", IFLA_BRPORT_LEARNING, learning);
    c("flood", IFLA_BRPORT_UNICAST_FLOOD, flood);
    c("mcastFlood", IFLA_BRPORT_MCAST_FLOOD, mcastFlood);
    c("bcastFlood", IFLA_BRPORT_BCAST_FLOOD, bcastFlood);
    c("guard", IFLA_BRPORT_GUARD, guard);
    c("fastLeave", IFLA_BRPORT_FAST_LEAVE, fastLeave);
    c("proxyArp", IFLA_BRPORT_PROXYARP, proxyArp);
    c("neighSuppress", IFLA_BRPORT_NEIGH_SUPPRESS, neighSuppress);
  }
};

struct VxlanOptions {
  Opt<uint32_t> vni, ageing, limit;
  Opt<LinkRef> dev;
  Opt<IpAddress> local, group;  // v4 and v6 have attributes of their own: see link.cc
  Opt<Be16> port;
  Opt<uint8_t> ttl, tos, df;
  Opt<bool> learning, proxy, rsc, l2miss, l3miss, udpCsum, udpZeroCsum6Tx, udpZeroCsum6Rx, collectMetadata;
  Opt<Presence> gbp;

  template <class C>
  void Describe(C& c) {
    c("vni", IFLA_VXLAN_ID, vni);
    c("dev", IFLA_VXLAN_LINK, dev);
    c.Plain("local", local);
    c.Plain("group", group);
    c("port", IFLA_VXLAN_PORT, port);
    c("ttl", IFLA_VXLAN_TTL, ttl);
    c("tos", IFLA_VXLAN_TOS, tos);
    c("ageing", IFLA_VXLAN_AGEING, ageing);
    c("limit", IFLA_VXLAN_LIMIT, limit);
    c.Named("df", IFLA_VXLAN_DF, df, kVxlanDf);
    c("learning", IFLA_VXLAN_LEARNING, learning);
    c("proxy", IFLA_VXLAN_PROXY, proxy);
    c("rsc", IFLA_VXLAN_RSC, rsc);
    c("l2miss", IFLA_VXLAN_L2MISS, l2miss);
    c("l3miss", IFLA_VXLAN_L3MISS, l3miss);
    c("udpCsum", IFLA_VXLAN_UDP_CSUM, udpCsum);
    c("udpZeroCsum6Tx", IFLA_VXLAN_UDP_ZERO_CSUM6_TX, udpZeroCsum6Tx);
    c("udpZeroCsum6Rx", IFLA_VXLAN_UDP_ZERO_CSUM6_RX, udpZeroCsum6Rx);
    c("collectMetadata", IFLA_VXLAN_COLLECT_METADATA, collectMetadata);
    c("gbp", IFLA_VXLAN_GBP, gbp);
  }
};

struct MacvlanOptions {
  Opt<uint32_t> mode;
  Opt<uint16_t> flags;

  template <class C>
  void Describe(C& c) {
    c.Named("mode", IFLA_MACVLAN_MODE, mode, kMacvlanModes);
    c("flags", IFLA_MACVLAN_FLAGS, flags);
  }
};

// The other end of a veth pair, as far as it is set when the pair is made. It starts down: the kernel refuses to open an
// end before the two are tied together.
struct VethPeer {
  Opt<std::string> name;
  Opt<uint32_t> index, mtu;
  Opt<HardwareAddress> mac;
  Opt<NetNsRef> netns;

  template <class C>
  void Describe(C& c) {
    c("name", IFLA_IFNAME, name);
    c.Plain("index", index);
    c("mtu", IFLA_MTU, mtu);
    c("mac", IFLA_ADDRESS, mac);
    c.Plain("netns", netns);
  }
};

struct LinkStatistics {
  Opt<uint64_t> rxPackets, txPackets, rxBytes, txBytes, rxErrors, txErrors, rxDropped, txDropped, multicast, collisions;

  template <class C>
  void Describe(C& c) {
    c.Plain("rxPackets", rxPackets);
    c.Plain("txPackets", txPackets);
    c.Plain("rxBytes", rxBytes);
    c.Plain("txBytes", txBytes);
    c.Plain("rxErrors", rxErrors);
    c.Plain("txErrors", txErrors);
    c.Plain("rxDropped", rxDropped);
    c.Plain("txDropped", txDropped);
    c.Plain("multicast", multicast);
    c.Plain("collisions", collisions);
  }
};

struct Link {
  Opt<uint32_t> index;
  Opt<std::string> name, newName, type, alias;
  Opt<uint32_t> mtu, txQueueLength, group;
  Opt<HardwareAddress> mac;
  Opt<LinkRef> master, parent;
  Opt<NetNsRef> netns;
  Opt<bool> up, promisc, arp, multicast, running, loopback;
  Opt<uint8_t> operState;
  Opt<int32_t> linkNetnsId;
  Opt<BridgeOptions> bridge;
  Opt<VxlanOptions> vxlan;
  Opt<MacvlanOptions> macvlan;
  Opt<VethPeer> peer;
  Opt<BridgePort> port;
  Opt<LinkStatistics> statistics;

  template <class C>
  void Describe(C& c) {
    c.Plain("index", index);
    c.Plain("name", name);
    c.Plain("newName", newName);
    c.Plain("type", type);
    c.Plain("alias", alias);
    c("mtu", IFLA_MTU, mtu);
    c("txQueueLength", IFLA_TXQLEN, txQueueLength);
    c("group", IFLA_GROUP, group);
    c("mac", IFLA_ADDRESS, mac);
    c("master", IFLA_MASTER, master);
    c("parent", IFLA_LINK, parent);
    c.Plain("netns", netns);
    c.Plain("up", up);
    c.Plain("promisc", promisc);
    c.Plain("arp", arp);
    c.Plain("multicast", multicast);
    c.Plain("running", running);
    c.Plain("loopback", loopback);
    c.PlainNamed("operState", operState, kOperStates);
    c("linkNetnsId", IFLA_LINK_NETNSID, linkNetnsId);
    c.PlainObject("bridge", bridge);
    c.PlainObject("vxlan", vxlan);
    c.PlainObject("macvlan", macvlan);
    c.PlainObject("peer", peer);
    c.PlainObject("port", port);
    c.PlainObject("statistics", statistics);
  }

  // Throws InputError if the fields cannot be what the verb needs. Needs no kernel.
  void Check(Verb verb) const;
  // Appends one or two messages (alias and port options need the link to exist). Link names must be resolved.
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Link Decode(const MessageView& message);
};

}  // namespace trellis::netlink
