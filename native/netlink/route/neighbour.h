// Neighbours (ARP, NDP) and the forwarding databases of bridges and VXLANs: `ip neighbour` and `bridge fdb`.
// Guarantees: family "bridge" speaks of FDB entries, any other of neighbours.
#pragma once
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "netlink/codec.h"
#include "netlink/verb.h"

namespace trellis::netlink {

inline constexpr Name kNeighbourFlags[] = {{"use", NTF_USE},
                                           {"self", NTF_SELF},
                                           {"master", NTF_MASTER},
                                           {"proxy", NTF_PROXY},
                                           {"extern_learn", NTF_EXT_LEARNED},
                                           {"offload", NTF_OFFLOADED},
                                           {"sticky", NTF_STICKY},
                                           {"router", NTF_ROUTER}};

struct Neighbour {
  Opt<uint8_t> family;
  Opt<LinkRef> dev, via;
  Opt<IpAddress> address;
  Opt<HardwareAddress> mac;
  Opt<uint16_t> state, vlan;
  Opt<WordFlags<kNeighbourFlags>> flags;
  Opt<Be16> port;
  Opt<uint32_t> vni, sourceVni, probes;
  Opt<LinkRef> master;

  template <class C>
  void Describe(C& c);

  int Family() const;
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Neighbour Decode(const MessageView& message);
};

inline constexpr Name kNeighbourStates[] = {{"none", NUD_NONE},     {"incomplete", NUD_INCOMPLETE}, {"reachable", NUD_REACHABLE},
                                            {"stale", NUD_STALE},   {"delay", NUD_DELAY},           {"probe", NUD_PROBE},
                                            {"failed", NUD_FAILED}, {"noarp", NUD_NOARP},           {"permanent", NUD_PERMANENT}};
inline constexpr Name kNeighbourFamilies[] = {{"inet", 2}, {"inet6", 10}, {"bridge", 7}};

template <class C>
void Neighbour::Describe(C& c) {
  c.PlainNamed("family", family, kNeighbourFamilies);
  c.Plain("dev", dev);
  c("address", NDA_DST, address);
  c("mac", NDA_LLADDR, mac);
  c.PlainNamed("state", state, kNeighbourStates);
  c.Plain("flags", flags);
  c("vlan", NDA_VLAN, vlan);
  c("port", NDA_PORT, port);
  c("vni", NDA_VNI, vni);
  c("sourceVni", NDA_SRC_VNI, sourceVni);
  c("via", NDA_IFINDEX, via);
  c("master", NDA_MASTER, master);
  c("probes", NDA_PROBES, probes);
}

}  // namespace trellis::netlink
