#include "netlink/route/route.h"

#include <sys/socket.h>

namespace trellis::netlink {

namespace {

// All of them travel in one attribute of at most 64 KiB; with an IPv6 gateway one takes 28 bytes.
constexpr size_t kMaxNextHops = 2000;

struct Via {
  uint16_t family;
  uint8_t octets[16];
};

// A gateway of the other family (IPv4 routed over IPv6 hops) goes into RTA_VIA.
void PutGateway(Batch& batch, const IpAddress& gateway, int routeFamily) {
  if (gateway.family() == routeFamily) {
    batch.Put(RTA_GATEWAY, gateway.bytes());
    return;
  }
  Via via{static_cast<uint16_t>(gateway.family()), {}};
  memcpy(via.octets, gateway.octets.data(), gateway.length);
  batch.Put(RTA_VIA, &via, sizeof via.family + gateway.length);
}

Opt<IpAddress> GetGateway(const AttributeTable& table) {
  if (table.Has(RTA_GATEWAY)) {
    IpAddress gateway;
    GetAttribute(table.Get(RTA_GATEWAY), gateway);
    return gateway;
  }
  if (!table.Has(RTA_VIA) || table.Get(RTA_VIA).size() < sizeof(uint16_t)) return std::nullopt;
  return IpAddress::FromBytes(table.Get(RTA_VIA).subspan(sizeof(uint16_t)));
}

void PutNextHops(Batch& batch, const std::vector<NextHop>& hops, int family) {
  const size_t nest = batch.BeginNest(RTA_MULTIPATH, 0);
  for (const NextHop& hop : hops) {
    // rtnexthop is an attribute-like frame of its own: u16 length, then flags, weight, index, then attributes.
    Batch inner;
    inner.Begin(0, 0);
    rtnexthop head{};
    head.rtnh_hops = static_cast<uint8_t>(hop.weight.value_or(1) - 1);
    head.rtnh_flags = hop.onlink.value_or(false) ? RTNH_F_ONLINK : 0;
    head.rtnh_ifindex = hop.dev ? static_cast<int>(hop.dev->index) : 0;
    inner.Header(head);
    if (hop.gateway) PutGateway(inner, *hop.gateway, family);
    const size_t size = inner.size() - sizeof(nlmsghdr);
    head.rtnh_len = static_cast<uint16_t>(size);
    batch.Append(&head, sizeof head);
    batch.Append(inner.data() + sizeof(nlmsghdr) + sizeof head, size - sizeof head);
  }
  batch.EndNest(nest);
}

std::vector<NextHop> GetNextHops(Bytes bytes) {
  std::vector<NextHop> hops;
  while (bytes.size() >= sizeof(rtnexthop)) {
    const auto head = ReadValue<rtnexthop>(bytes);
    if (head.rtnh_len < sizeof head || head.rtnh_len > bytes.size()) ThrowMalformed("truncated next hop");
    NextHop& hop = hops.emplace_back();
    hop.gateway = GetGateway(AttributeTable(bytes.subspan(sizeof head, head.rtnh_len - sizeof head)));
    hop.dev = LinkRef{{}, static_cast<uint32_t>(head.rtnh_ifindex)};
    hop.weight = static_cast<uint16_t>(head.rtnh_hops + 1);
    if (head.rtnh_flags & RTNH_F_ONLINK) hop.onlink = true;
    const size_t step = RTNH_ALIGN(head.rtnh_len);
    bytes = bytes.subspan(std::min(step, bytes.size()));
  }
  return hops;
}

bool NeedsNoLink(uint8_t type) {
  return type == RTN_BLACKHOLE || type == RTN_UNREACHABLE || type == RTN_PROHIBIT || type == RTN_THROW;
}

// As iproute2 chooses: local routes reach the host, those without a gateway the link, all others everything.
uint8_t DefaultScope(const Route& route, uint8_t type) {
  if (route.Family() != AF_INET) return RT_SCOPE_UNIVERSE;
  if (type == RTN_LOCAL) return RT_SCOPE_HOST;
  if (type == RTN_BROADCAST || type == RTN_ANYCAST) return RT_SCOPE_LINK;
  if (type == RTN_UNICAST && !route.gateway && route.nextHops.empty()) return RT_SCOPE_LINK;
  return RT_SCOPE_UNIVERSE;
}

}  // namespace

int Route::Family() const {
  if (destination) return destination->address.family();
  if (family) return *family == "inet6" ? AF_INET6 : AF_INET;
  if (gateway) return gateway->family();
  if (!nextHops.empty() && nextHops[0].gateway) return nextHops[0].gateway->family();
  return AF_INET;
}

void Route::Check(Verb verb) const {
  if (!destination && !gateway && nextHops.empty() && !family)
    throw InputError("a route needs a destination, like \"10.1.0.0/16\"");
  if (family && *family != "inet" && *family != "inet6") ThrowField("family", "must be inet or inet6");
  const int af = Family();
  if (preferredSource && preferredSource->family() != af) ThrowField("preferredSource", "must be of the destination's family");
  if (source && source->address.family() != af) ThrowField("source", "must be of the destination's family");
  if (gateway && af == AF_INET6 && gateway->length == 4) ThrowField("gateway", "must be IPv6 for an IPv6 destination");
  if (gateway && !nextHops.empty()) throw InputError("a route has either a gateway or nextHops");
  if (nextHops.size() > kMaxNextHops) ThrowField("nextHops", "must be at most " + std::to_string(kMaxNextHops));
  for (const NextHop& hop : nextHops) {
    if (!hop.gateway && !hop.dev) throw InputError("each of nextHops needs a gateway or a dev");
    if (hop.weight && (*hop.weight < 1 || *hop.weight > 256)) ThrowField("nextHops.weight", "must be from 1 to 256");
  }
  if (verb != Verb::Delete && !dev && !gateway && nextHops.empty() && !NeedsNoLink(type.value_or(RTN_UNICAST)))
    throw InputError("a route needs a gateway, a dev or nextHops");
}

void Route::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Delete) batch.Begin(RTM_DELROUTE, 0, owner);
  else batch.Begin(RTM_NEWROUTE, verb == Verb::Change ? NLM_F_REPLACE : NewFlags(verb), owner);
  const int af = Family();
  rtmsg head{};
  head.rtm_family = static_cast<uint8_t>(af);
  head.rtm_dst_len = destination ? destination->length : 0;
  head.rtm_src_len = source ? source->length : 0;
  head.rtm_tos = tos.value_or(0);
  const uint32_t wanted = table.value_or(RT_TABLE_MAIN);
  head.rtm_table = wanted < 256 ? static_cast<uint8_t>(wanted) : static_cast<uint8_t>(RT_TABLE_UNSPEC);
  if (verb == Verb::Delete) {
    // What is not said matches anything.
    head.rtm_scope = scope.value_or(RT_SCOPE_NOWHERE);
    head.rtm_type = type.value_or(RTN_UNSPEC);
    head.rtm_protocol = protocol.value_or(RTPROT_UNSPEC);
  } else {
    head.rtm_type = type.value_or(RTN_UNICAST);
    head.rtm_scope = scope.value_or(DefaultScope(*this, head.rtm_type));
    head.rtm_protocol = protocol.value_or(RTPROT_BOOT);
  }
  if (onlink.value_or(false)) head.rtm_flags |= RTNH_F_ONLINK;
  batch.Header(head);
  if (destination && destination->length > 0) batch.Put(RTA_DST, destination->address.bytes());
  if (source && source->length > 0) batch.Put(RTA_SRC, source->address.bytes());
  if (gateway) PutGateway(batch, *gateway, af);
  if (!nextHops.empty()) PutNextHops(batch, nextHops, af);
  ToAttributes to(batch);
  Describe(to);
  batch.End();
}

Route Route::Decode(const MessageView& message) {
  const auto head = message.Head<rtmsg>();
  FromAttributes from(message.Attributes<rtmsg>());
  Route out;
  out.Describe(from);
  out.family = head.rtm_family == AF_INET6 ? "inet6" : "inet";
  Opt<IpAddress> destination, source;
  from("destination", RTA_DST, destination);
  from("source", RTA_SRC, source);
  out.destination = IpPrefix{destination.value_or(IpAddress::Zero(head.rtm_family)), head.rtm_dst_len};
  if (source) out.source = IpPrefix{*source, head.rtm_src_len};
  out.gateway = GetGateway(from.table());
  if (!out.table) out.table = head.rtm_table;
  out.type = head.rtm_type;
  out.scope = head.rtm_scope;
  out.protocol = head.rtm_protocol;
  if (head.rtm_tos != 0) out.tos = head.rtm_tos;
  if (head.rtm_flags & RTNH_F_ONLINK) out.onlink = true;
  if (from.table().Has(RTA_MULTIPATH)) out.nextHops = GetNextHops(from.table().Get(RTA_MULTIPATH));
  return out;
}

}  // namespace trellis::netlink
