#include "netlink/ipset/entry.h"

#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace trellis::netlink {

namespace {

constexpr Name kProtocols[] = {
    {"tcp", IPPROTO_TCP},   {"udp", IPPROTO_UDP},       {"sctp", IPPROTO_SCTP},        {"udplite", IPPROTO_UDPLITE},
    {"icmp", IPPROTO_ICMP}, {"icmpv6", IPPROTO_ICMPV6}, {"ipv6-icmp", IPPROTO_ICMPV6}, {"gre", IPPROTO_GRE},
    {"esp", IPPROTO_ESP},   {"ah", IPPROTO_AH}};
constexpr std::string_view kPhysdev = "physdev:";

template <class T>
bool ReadNumber(std::string_view text, T& to, int base = 10) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, to, base);
  return error == std::errc() && at == end && !text.empty();
}

[[noreturn]] void Refuse(std::string_view part, std::string_view expected) {
  throw InputError("'" + std::string(part) + "' " + std::string(expected));
}

AddressRange ReadAddress(std::string_view text, uint8_t family) {
  const std::string expected = std::string("must be an ") + (family == AF_INET6 ? "IPv6" : "IPv4") +
                               " address, alone, with /prefix or as a range with '-'";
  AddressRange range;
  auto address = [&](std::string_view part) {
    const auto parsed = IpAddress::Parse(part);
    if (!parsed || parsed->family() != family) Refuse(text, expected);
    return *parsed;
  };
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    uint8_t prefix = 0;
    range.from = address(text.substr(0, slash));
    if (!ReadNumber(text.substr(slash + 1), prefix) || prefix > range.from.length * 8) Refuse(text, expected);
    range.prefix = prefix;
  } else if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    range.from = address(text.substr(0, dash));
    range.to = address(text.substr(dash + 1));
  } else {
    range.from = address(text);
  }
  return range;
}

void PutAddress(Batch& to, uint16_t type, const IpAddress& address) {
  const size_t nest = to.BeginNest(type);
  to.Put((address.length == 16 ? IPSET_ATTR_IPADDR_IPV6 : IPSET_ATTR_IPADDR_IPV4) | NLA_F_NET_BYTEORDER, address.bytes());
  to.EndNest(nest);
}

void PutRange(Batch& to, const Opt<AddressRange>& range, uint16_t from, uint16_t last, uint16_t prefix) {
  if (!range) return;
  PutAddress(to, from, range->from);
  if (range->to) PutAddress(to, last, *range->to);
  if (range->prefix) to.PutValue(prefix, *range->prefix);
}

Opt<IpAddress> GetAddress(const AttributeTable& table, uint16_t type) {
  if (!table.Has(type)) return {};
  const AttributeTable inner(table.Get(type));
  for (const uint16_t version : {IPSET_ATTR_IPADDR_IPV4, IPSET_ATTR_IPADDR_IPV6})
    if (inner.Has(version))
      if (const auto address = IpAddress::FromBytes(inner.Get(version))) return *address;
  ThrowMalformed("an address that is neither IPv4 nor IPv6");
}

Opt<AddressRange> GetRange(const AttributeTable& table, uint16_t from, uint16_t last, uint16_t prefix) {
  const auto first = GetAddress(table, from);
  if (!first) return {};
  AddressRange range{*first, {}, GetAddress(table, last)};
  if (table.Has(prefix)) range.prefix = ReadValue<uint8_t>(table.Get(prefix));
  return range;
}

// A prefix as long as the address is not printed, as ipset does.
std::string RangeText(const AddressRange& range) {
  std::string text = range.from.ToString();
  if (range.to) text.append("-").append(range.to->ToString());
  else if (range.prefix && *range.prefix != range.from.length * 8) text.append("/").append(std::to_string(*range.prefix));
  return text;
}

bool HasIcmpTypes(uint8_t protocol) { return protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6; }

}  // namespace

template <class C>
void SetEntry::Describe(C& c) {
  c("protocol", IPSET_ATTR_PROTO, protocol);
  c("port", IPSET_ATTR_PORT, port);
  c("portTo", IPSET_ATTR_PORT_TO, portTo);
  c("mark", IPSET_ATTR_MARK, mark);
  c("mac", IPSET_ATTR_ETHER, mac);
  c("interface", IPSET_ATTR_IFACE, interface);
  c("member", IPSET_ATTR_NAME, member);
  c("reference", IPSET_ATTR_NAMEREF, reference);
  c("timeout", IPSET_ATTR_TIMEOUT, timeout);
  c("packets", IPSET_ATTR_PACKETS, packets);
  c("bytes", IPSET_ATTR_BYTES, bytes);
  c("comment", IPSET_ATTR_COMMENT, comment);
  c("flags", IPSET_ATTR_CADT_FLAGS, flags);
}

SetEntry SetEntry::Read(const json::Value& value, const SetShape& shape) {
  SetEntry entry;
  if (value.IsString()) {
    entry.ReadText(value.string(), shape);
  } else if (value.IsObject()) {
    entry.ReadText(TextOf(value), shape);
    entry.ReadExtras(value, shape);
  } else {
    throw InputError("must be a text or an object with the text as 'entry'");
  }
  return entry;
}

std::string_view SetEntry::TextOf(const json::Value& value) {
  const json::Value* text = value.IsObject() ? value.Find("entry") : &value;
  return text != nullptr && text->IsString() ? text->string() : std::string_view{};
}

void SetEntry::ReadText(std::string_view text, const SetShape& shape) {
  if (text.find('\0') != std::string_view::npos) throw InputError("must not hold a NUL character");
  const auto& parts = shape.type->parts;
  const size_t count = std::find(std::begin(parts), std::end(parts), EntryPart::None) - std::begin(parts);
  if (static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1 != count)
    throw InputError("must have " + std::to_string(count) + (count == 1 ? " part" : " parts") + ", as sets of type " +
                     shape.typeName + " have");
  for (size_t i = 0; i < count; ++i) {
    const size_t comma = std::min(text.find(','), text.size());
    ReadPart(text.substr(0, comma), parts[i], shape);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

void SetEntry::ReadPart(std::string_view text, EntryPart part, const SetShape& shape) {
  switch (part) {
    case EntryPart::Address:
      address = ReadAddress(text, shape.family);
      return;
    case EntryPart::SecondAddress:
    case EntryPart::SecondNet:
      second = ReadAddress(text, shape.family);
      // A host or nothing: the kernel would silently leave the rest out.
      if (part == EntryPart::SecondAddress && (second->prefix || second->to)) Refuse(text, "must be one address");
      return;
    case EntryPart::Protocol:
      return ReadProtocol(text, shape);
    case EntryPart::Port:
      return ReadPorts(text);
    case EntryPart::Mark: {
      const bool hex = text.starts_with("0x");
      if (!ReadNumber(hex ? text.substr(2) : text, mark.emplace().value, hex ? 16 : 10)) Refuse(text, "must be a mark");
      return;
    }
    case EntryPart::Interface:
      if (text.starts_with(kPhysdev)) {
        text.remove_prefix(kPhysdev.size());
        flags = Net32{flags.value_or(Net32{}).value | IPSET_FLAG_PHYSDEV};
      }
      if (text.empty() || text.size() >= IFNAMSIZ) Refuse(text, "must be the name of a link, 1 to 15 bytes long");
      interface = text;
      return;
    case EntryPart::SetName:
      if (text.empty() || text.size() >= IPSET_MAXNAMELEN) Refuse(text, "must be the name of a set, 1 to 31 bytes long");
      member = text;
      return;
    case EntryPart::None:
      return;
  }
}

void SetEntry::ReadPorts(std::string_view text) {
  const size_t dash = text.find('-');
  bool good = ReadNumber(text.substr(0, dash), port.emplace().value);
  if (dash != std::string_view::npos) good = good && ReadNumber(text.substr(dash + 1), portTo.emplace().value);
  if (!good) Refuse(text, "must be a port or a range of ports, like 80 or 8000-8080");
}

// "tcp:80", "udp:53-60", "80" (which is TCP's), "icmp:8/0".
void SetEntry::ReadProtocol(std::string_view text, const SetShape& shape) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    protocol = IPPROTO_TCP;
    return ReadPorts(text);
  }
  const std::string_view word = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (const auto known = ValueOf(kProtocols, word)) protocol = static_cast<uint8_t>(*known);
  else if (!ReadNumber(word, protocol.emplace())) Refuse(word, "must be a protocol, like tcp, udp, sctp or a number");
  if (!HasIcmpTypes(*protocol)) return ReadPorts(rest);
  uint8_t type = 0;
  uint8_t code = 0;
  const size_t slash = rest.find('/');
  if ((*protocol == IPPROTO_ICMPV6) != (shape.family == AF_INET6)) Refuse(text, "must be of the set's family");
  if (!ReadNumber(rest.substr(0, slash), type) || slash == std::string_view::npos || !ReadNumber(rest.substr(slash + 1), code))
    Refuse(text, "must tell type and code in numbers, like icmp:8/0");
  port = Net16{static_cast<uint16_t>(type << 8 | code)};
}

void SetEntry::ReadExtras(const json::Value& object, const SetShape& shape) {
  FromJson from(object);
  Opt<bool> nomatch;
  Opt<std::string> before, after;
  from.Take("entry");
  from.Plain("timeout", timeout);
  from.Plain("comment", comment);
  from.Plain("packets", packets);
  from.Plain("bytes", bytes);
  from.Plain("nomatch", nomatch);
  from.Plain("before", before);
  from.Plain("after", after);
  from.Finish();
  if (comment && comment->size() > IPSET_MAX_COMMENT_SIZE) ThrowField("comment", "must be at most 255 bytes long");
  // ipset save writes comments in quotes and knows no escape: such a set could not be restored.
  if (comment && comment->find_first_of("\"\n") != std::string::npos)
    ThrowField("comment", "must hold neither a double quote nor a line's end");
  uint32_t bits = flags.value_or(Net32{}).value;
  if (nomatch.value_or(false)) {
    if (!shape.type->hasNomatch) ThrowField("nomatch", "is not for sets of type " + shape.typeName);
    bits |= IPSET_FLAG_NOMATCH;
  }
  if ((before || after) && shape.type->method != SetMethod::List) ThrowField("before", "and 'after' are for list:set only");
  if (before && after) ThrowField("before", "and 'after' exclude each other");
  if (before) bits |= IPSET_FLAG_BEFORE;
  reference = before ? before : after;
  if (reference && (reference->empty() || reference->size() >= IPSET_MAXNAMELEN))
    ThrowField("before", "or 'after' must be the name of a set, 1 to 31 bytes long");
  if (bits != 0) flags = Net32{bits};
}

void SetEntry::Encode(Batch& batch) {
  const size_t nest = batch.BeginNest(IPSET_ATTR_DATA);
  PutRange(batch, address, IPSET_ATTR_IP, IPSET_ATTR_IP_TO, IPSET_ATTR_CIDR);
  PutRange(batch, second, IPSET_ATTR_IP2, IPSET_ATTR_IP2_TO, IPSET_ATTR_CIDR2);
  ToAttributes to(batch);
  Describe(to);
  batch.PutValue<uint32_t>(IPSET_ATTR_CADT_LINENO, 0);
  batch.EndNest(nest);
}

SetEntry SetEntry::Decode(Bytes nest) {
  FromAttributes from(nest);
  SetEntry out;
  out.Describe(from);
  out.address = GetRange(from.table(), IPSET_ATTR_IP, IPSET_ATTR_IP_TO, IPSET_ATTR_CIDR);
  out.second = GetRange(from.table(), IPSET_ATTR_IP2, IPSET_ATTR_IP2_TO, IPSET_ATTR_CIDR2);
  return out;
}

// Every type has its parts in this order, so that entries of types we do not make can be shown too.
std::string SetEntry::Text() const {
  std::string text;
  auto append = [&](std::string_view part) { text.append(text.empty() ? "" : ",").append(part); };
  if (member) append(*member);
  if (address) append(RangeText(*address));
  if (mark) {
    char digits[8];
    const auto end = std::to_chars(digits, digits + sizeof digits, mark->value, 16).ptr;
    append(std::string("0x").append(8 - (end - digits), '0').append(digits, end));
  }
  if (mac) append(mac->ToString());
  if (port) {
    std::string ports = std::to_string(port->value);
    if (portTo) ports.append("-").append(std::to_string(portTo->value));
    if (protocol) {
      if (HasIcmpTypes(*protocol)) ports = std::to_string(port->value >> 8).append("/").append(std::to_string(port->value & 255));
      const auto word = WordOf(kProtocols, *protocol);
      ports = (word ? std::string(*word) : std::to_string(*protocol)).append(":").append(ports);
    }
    append(ports);
  }
  if (second) append(RangeText(*second));
  const bool physdev = flags && flags->value & IPSET_FLAG_PHYSDEV;
  if (interface) append(std::string(physdev ? kPhysdev : "").append(*interface));
  return text;
}

void SetEntry::Write(json::Writer& writer) const {
  ToJson to(writer);
  writer.BeginObject();
  to.Plain("entry", Opt<std::string>(Text()));
  to.Plain("timeout", timeout);
  to.Plain("packets", packets);
  to.Plain("bytes", bytes);
  to.Plain("comment", comment);
  if (flags && flags->value & IPSET_FLAG_NOMATCH) to.Plain("nomatch", Opt<bool>(true));
  writer.EndObject();
}

}  // namespace trellis::netlink
