#include "netlink/ipvs/service.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>

namespace trellis::netlink {

namespace {

// The scheduler's own flags share three bits; which word a bit has depends on the scheduler.
struct Flag {
  std::string_view word;
  std::string_view scheduler;  // empty: any
  uint32_t bit;
};
constexpr Flag kFlags[] = {{"ops", "", IP_VS_SVC_F_ONEPACKET},    {"sh-fallback", "sh", IP_VS_SVC_F_SCHED1},
                           {"sh-port", "sh", IP_VS_SVC_F_SCHED2}, {"mh-fallback", "mh", IP_VS_SVC_F_SCHED1},
                           {"mh-port", "mh", IP_VS_SVC_F_SCHED2}, {"flag-1", "", IP_VS_SVC_F_SCHED1},
                           {"flag-2", "", IP_VS_SVC_F_SCHED2},    {"flag-3", "", IP_VS_SVC_F_SCHED3}};

uint32_t FlagBits(const std::vector<std::string>& words, const std::string& scheduler) {
  uint32_t bits = 0;
  for (const auto& word : words) {
    const auto* flag = std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& f) { return f.word == word; });
    if (flag == std::end(kFlags))
      ThrowField("flags",
                 "knows no '" + word + "'; it knows ops, sh-fallback, sh-port, mh-fallback, mh-port, flag-1, flag-2, flag-3");
    if (!flag->scheduler.empty() && flag->scheduler != scheduler)
      ThrowField("flags", "'" + word + "' is not for the scheduler " + scheduler);
    bits |= flag->bit;
  }
  return bits;
}

std::vector<std::string> FlagWords(uint32_t bits, std::string_view scheduler) {
  std::vector<std::string> words;
  for (const Flag& flag : kFlags) {
    if ((bits & flag.bit) == 0 || (!flag.scheduler.empty() && flag.scheduler != scheduler)) continue;
    words.emplace_back(flag.word);
    bits &= ~flag.bit;  // told by one word
  }
  return words;
}

// IPv4's mask is a mask, IPv6's a prefix length.
uint32_t MaskOf(int family, uint8_t prefix) {
  if (family == AF_INET6) return prefix;
  return prefix == 0 ? 0 : htobe32(~uint32_t{0} << (32 - prefix));
}

uint8_t PrefixOf(int family, uint32_t mask) {
  if (family == AF_INET6) return static_cast<uint8_t>(std::min<uint32_t>(mask, 128));
  return static_cast<uint8_t>(std::countl_one(be32toh(mask)));
}

uint8_t WholePrefix(int family) { return family == AF_INET6 ? 128 : 32; }

}  // namespace

Opt<IpvsStatistics> GetStatistics(const AttributeTable& table, uint16_t wide, uint16_t narrow) {
  const uint16_t type = table.Has(wide) ? wide : narrow;
  if (!table.Has(type)) return {};
  IpvsStatistics out;
  FromAttributes from(table.Get(type));
  out.Describe(from);
  return out;
}

void PutIpvsAddress(Batch& batch, uint16_t type, const IpAddress& address) {
  batch.Put(type, address.octets.data(), address.octets.size());
}

Opt<IpAddress> GetIpvsAddress(const AttributeTable& table, uint16_t type, int family) {
  const Bytes bytes = table.Get(type);
  const size_t length = family == AF_INET6 ? 16 : 4;
  if (bytes.size() < length) return {};
  return IpAddress::FromBytes(bytes.first(length));
}

void IpvsServiceKey::Check() {
  if (fwmark) {
    if (*fwmark == 0) ThrowField("fwmark", "must not be 0");
    if (protocol || address || port) throw InputError("a service has a fwmark or protocol, address and port, not both");
    family = family.value_or(AF_INET);
  } else {
    if (!protocol || !address || !port) throw InputError("a service needs its protocol, address and port, or a fwmark");
    if (family && *family != address->family()) ThrowField("family", "must be the address's");
    family = static_cast<uint16_t>(address->family());
    if (!WordOf(kIpvsProtocols, *protocol)) ThrowField("protocol", "must be one of " + ListWords(kIpvsProtocols));
  }
  if (*family != AF_INET && *family != AF_INET6) ThrowField("family", "must be inet or inet6");
}

void IpvsServiceKey::Encode(Batch& batch) const {
  batch.PutValue<uint16_t>(IPVS_SVC_ATTR_AF, *family);
  if (fwmark) {
    batch.PutValue(IPVS_SVC_ATTR_FWMARK, *fwmark);
    return;
  }
  batch.PutValue<uint16_t>(IPVS_SVC_ATTR_PROTOCOL, *protocol);
  PutIpvsAddress(batch, IPVS_SVC_ATTR_ADDR, *address);
  PutAttribute(batch, IPVS_SVC_ATTR_PORT, *port);
}

IpvsServiceKey IpvsServiceKey::Decode(const AttributeTable& table) {
  FromAttributes from(table);
  IpvsServiceKey out;
  from("family", IPVS_SVC_ATTR_AF, out.family);
  from("fwmark", IPVS_SVC_ATTR_FWMARK, out.fwmark);
  if (out.fwmark) return out;
  from("protocol", IPVS_SVC_ATTR_PROTOCOL, out.protocol);
  from("port", IPVS_SVC_ATTR_PORT, out.port);
  out.address = GetIpvsAddress(table, IPVS_SVC_ATTR_ADDR, out.family.value_or(AF_INET));
  return out;
}

std::string IpvsServiceKey::Text() const {
  if (fwmark) return "fwmark " + std::to_string(*fwmark);
  const auto word = WordOf(kIpvsProtocols, protocol.value_or(0));
  std::string text(word ? *word : "service");
  const std::string host = address ? address->ToString() : "";
  const bool v6 = address && address->family() == AF_INET6;
  text.append(v6 ? " [" : " ").append(host).append(v6 ? "]" : "");
  return text.append(":").append(std::to_string(port.value_or(Be16{}).value));
}

void IpvsService::Check(Verb verb) {
  key.Check();
  if (verb == Verb::Delete) return;
  if (statistics) ThrowField("statistics", "are told by the kernel, not to it");
  if (!scheduler) scheduler = "wlc";
  if (scheduler->empty() || scheduler->size() >= IP_VS_SCHEDNAME_MAXLEN) ThrowField("scheduler", "must be 1 to 15 bytes long");
  if (persistenceEngine && persistenceEngine->size() >= IP_VS_PENAME_MAXLEN)
    ThrowField("persistenceEngine", "must be 1 to 15 bytes long");
  if (persistence && *persistence == 0) ThrowField("persistence", "must be at least one second");
  if (!persistence && (persistencePrefix || persistenceEngine))
    throw InputError("persistencePrefix and persistenceEngine are for services with a persistence");
  if (persistencePrefix && (*persistencePrefix == 0 || *persistencePrefix > WholePrefix(*key.family)))
    ThrowField("persistencePrefix", "must be a prefix length of the service's family");
  if (flags) FlagBits(*flags, *scheduler);
}

void IpvsService::Encode(Batch& batch, bool full) {
  const size_t nest = batch.BeginNest(IPVS_CMD_ATTR_SERVICE);
  key.Encode(batch);
  if (full) {
    ToAttributes to(batch);
    Describe(to);
    ip_vs_flags bits{flags ? FlagBits(*flags, *scheduler) : 0, ~uint32_t{0}};
    if (persistence) bits.flags |= IP_VS_SVC_F_PERSISTENT;
    batch.PutValue(IPVS_SVC_ATTR_FLAGS, bits);
    batch.PutValue<uint32_t>(IPVS_SVC_ATTR_TIMEOUT, persistence.value_or(0));
    batch.PutValue<uint32_t>(IPVS_SVC_ATTR_NETMASK, MaskOf(*key.family, persistencePrefix.value_or(WholePrefix(*key.family))));
  }
  batch.EndNest(nest);
}

IpvsService IpvsService::Decode(const MessageView& message) {
  const AttributeTable top(message.Attributes<genlmsghdr>());
  const AttributeTable table(top.Get(IPVS_CMD_ATTR_SERVICE));
  FromAttributes from(table);
  IpvsService out;
  out.Describe(from);
  out.key = IpvsServiceKey::Decode(table);
  out.statistics = GetStatistics(table, IPVS_SVC_ATTR_STATS64, IPVS_SVC_ATTR_STATS);
  const auto bits = table.Has(IPVS_SVC_ATTR_FLAGS) ? ReadValue<ip_vs_flags>(table.Get(IPVS_SVC_ATTR_FLAGS)) : ip_vs_flags{};
  auto words = FlagWords(bits.flags, out.scheduler.value_or(""));
  if (!words.empty()) out.flags = std::move(words);
  if (bits.flags & IP_VS_SVC_F_PERSISTENT) {
    Opt<uint32_t> mask;
    from("persistence", IPVS_SVC_ATTR_TIMEOUT, out.persistence);
    from("persistencePrefix", IPVS_SVC_ATTR_NETMASK, mask);
    const int family = out.key.family.value_or(AF_INET);
    const uint8_t prefix = mask ? PrefixOf(family, *mask) : WholePrefix(family);
    if (prefix != WholePrefix(family)) out.persistencePrefix = prefix;
  }
  return out;
}

}  // namespace trellis::netlink
