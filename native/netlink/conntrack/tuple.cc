#include "netlink/conntrack/tuple.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>

namespace trellis::netlink::conntrack {

namespace {

// Requests and their answers, as the kernel pairs them.
struct IcmpPair {
  uint8_t protocol, request, answer;
};
constexpr IcmpPair kIcmpPairs[] = {
    {IPPROTO_ICMP, ICMP_ECHO, ICMP_ECHOREPLY},
    {IPPROTO_ICMP, ICMP_TIMESTAMP, ICMP_TIMESTAMPREPLY},
    {IPPROTO_ICMP, ICMP_INFO_REQUEST, ICMP_INFO_REPLY},
    {IPPROTO_ICMP, ICMP_ADDRESS, ICMP_ADDRESSREPLY},
    {IPPROTO_ICMPV6, ICMP6_ECHO_REQUEST, ICMP6_ECHO_REPLY},
    {IPPROTO_ICMPV6, 139, 140},  // node information (RFC 4620)
};

uint8_t InverseIcmpType(uint8_t protocol, uint8_t type) {
  for (const IcmpPair& pair : kIcmpPairs) {
    if (pair.protocol != protocol) continue;
    if (pair.request == type) return pair.answer;
    if (pair.answer == type) return pair.request;
  }
  return type;
}

void DecodeAddresses(Bytes bytes, Tuple& to) {
  ForEachAttribute(bytes, [&](const Attribute& attribute) {
    switch (attribute.type) {
      case CTA_IP_V4_SRC:
      case CTA_IP_V6_SRC:
        return GetAttribute(attribute.data, to.source.emplace());
      case CTA_IP_V4_DST:
      case CTA_IP_V6_DST:
        return GetAttribute(attribute.data, to.destination.emplace());
    }
  });
}

void DecodeProtocol(Bytes bytes, Tuple& to, Opt<uint8_t>& protocol) {
  ForEachAttribute(bytes, [&](const Attribute& attribute) {
    switch (attribute.type) {
      case CTA_PROTO_NUM:
        return GetAttribute(attribute.data, protocol.emplace());
      case CTA_PROTO_SRC_PORT:
        return GetAttribute(attribute.data, to.sourcePort.emplace());
      case CTA_PROTO_DST_PORT:
        return GetAttribute(attribute.data, to.destinationPort.emplace());
      case CTA_PROTO_ICMP_ID:
      case CTA_PROTO_ICMPV6_ID:
        return GetAttribute(attribute.data, to.icmpId.emplace());
      case CTA_PROTO_ICMP_TYPE:
      case CTA_PROTO_ICMPV6_TYPE:
        return GetAttribute(attribute.data, to.icmpType.emplace());
      case CTA_PROTO_ICMP_CODE:
      case CTA_PROTO_ICMPV6_CODE:
        return GetAttribute(attribute.data, to.icmpCode.emplace());
    }
  });
}

}  // namespace

void Tuple::Check(const char* direction, int family, uint8_t protocol) const {
  auto require = [&](bool there, const char* field, const char* expected) {
    if (!there) ThrowField(std::string(direction) + "." + field, expected);
  };
  require(source && source->family() == family, "source", "must be an address of the flow's family");
  require(destination && destination->family() == family, "destination", "must be an address of the flow's family");
  const bool ports = HasPorts(protocol);
  require(sourcePort.has_value() == ports, "sourcePort", ports ? "is missing" : "makes no sense for this protocol");
  require(destinationPort.has_value() == ports, "destinationPort", ports ? "is missing" : "makes no sense for this protocol");
  const bool icmp = IsIcmp(protocol);
  require(icmpType.has_value() == icmp, "icmpType", icmp ? "is missing" : "makes no sense for this protocol");
  require(icmpCode.has_value() == icmp, "icmpCode", icmp ? "is missing" : "makes no sense for this protocol");
  require(icmpId.has_value() == icmp, "icmpId", icmp ? "is missing" : "makes no sense for this protocol");
}

void Tuple::Encode(Batch& batch, uint16_t type, uint8_t protocol) const {
  auto put = [&](uint16_t attribute, const auto& field) {
    if (field) PutAttribute(batch, attribute, *field);
  };
  const bool v6 = source && source->family() == AF_INET6;
  const size_t tuple = batch.BeginNest(type);
  const size_t addresses = batch.BeginNest(CTA_TUPLE_IP);
  put(v6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, source);
  put(v6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, destination);
  batch.EndNest(addresses);
  const size_t proto = batch.BeginNest(CTA_TUPLE_PROTO);
  batch.PutValue(CTA_PROTO_NUM, protocol);
  put(CTA_PROTO_SRC_PORT, sourcePort);
  put(CTA_PROTO_DST_PORT, destinationPort);
  const bool icmp6 = protocol == IPPROTO_ICMPV6;
  put(icmp6 ? CTA_PROTO_ICMPV6_ID : CTA_PROTO_ICMP_ID, icmpId);
  put(icmp6 ? CTA_PROTO_ICMPV6_TYPE : CTA_PROTO_ICMP_TYPE, icmpType);
  put(icmp6 ? CTA_PROTO_ICMPV6_CODE : CTA_PROTO_ICMP_CODE, icmpCode);
  batch.EndNest(proto);
  put(CTA_TUPLE_ZONE, zone);
  batch.EndNest(tuple);
}

Tuple Tuple::Decode(Bytes bytes, Opt<uint8_t>& protocol) {
  Tuple out;
  ForEachAttribute(bytes, [&](const Attribute& attribute) {
    switch (attribute.type) {
      case CTA_TUPLE_IP:
        return DecodeAddresses(attribute.data, out);
      case CTA_TUPLE_PROTO:
        return DecodeProtocol(attribute.data, out, protocol);
      case CTA_TUPLE_ZONE:
        return GetAttribute(attribute.data, out.zone.emplace());
    }
  });
  return out;
}

Tuple Tuple::Inverse(uint8_t protocol) const {
  Tuple out = *this;
  std::swap(out.source, out.destination);
  std::swap(out.sourcePort, out.destinationPort);
  if (icmpType) out.icmpType = InverseIcmpType(protocol, *icmpType);
  out.zone.reset();
  return out;
}

}  // namespace trellis::netlink::conntrack
