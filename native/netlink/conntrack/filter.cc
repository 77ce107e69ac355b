#include "netlink/conntrack/filter.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace trellis::netlink::conntrack {

namespace {

// Where each field stands in a FlowKey.
enum Offset : size_t {
  kOriginalSource = 0,
  kOriginalDestination = 16,
  kReplySource = 32,
  kReplyDestination = 48,
  kOriginalSourcePort = 64,
  kOriginalDestinationPort = 66,
  kReplySourcePort = 68,
  kReplyDestinationPort = 70,
  kZone = 72,
  kFamily = 74,
  kProtocol = 75,
  kMark = 76,
  kPorts = 80,  // 1 for flows that have ports: port 0 must not find those that have none
};
static_assert(kPorts < FlowKey::kSize && FlowKey::kSize % 8 == 0);

template <class T>
void PutField(FlowKey& key, size_t offset, T value) {
  memcpy(key.bytes.data() + offset, &value, sizeof value);
}

void PutAddress(FlowKey& key, size_t offset, const Opt<IpAddress>& address) {
  if (address) std::copy(address->octets.begin(), address->octets.end(), key.bytes.begin() + offset);
}

// A filter as the bytes it wants and the bits that matter.
struct Condition {
  FlowKey value, mask;

  template <class T>
  void Want(size_t offset, const Opt<T>& field, T bits = static_cast<T>(~T{0})) {
    if (!field) return;
    PutField(value, offset, *field);
    PutField(mask, offset, bits);
  }
  void WantPrefix(size_t offset, const Opt<IpPrefix>& prefix) {
    if (!prefix) return;
    PutAddress(value, offset, prefix->address);
    for (size_t bit = 0; bit < prefix->length; bit += 8) {
      const size_t rest = std::min<size_t>(8, prefix->length - bit);
      mask.bytes[offset + bit / 8] = static_cast<uint8_t>(0xFF << (8 - rest));
    }
  }
  void WantPort(size_t offset, const Opt<uint16_t>& port) {
    Want(offset, port);
    if (port) Want<uint8_t>(kPorts, 1);
  }

  explicit Condition(const Filter& filter) {
    WantPrefix(kOriginalSource, filter.originalSource);
    WantPrefix(kOriginalDestination, filter.originalDestination);
    WantPrefix(kReplySource, filter.replySource);
    WantPrefix(kReplyDestination, filter.replyDestination);
    WantPort(kOriginalSourcePort, filter.originalSourcePort);
    WantPort(kOriginalDestinationPort, filter.originalDestinationPort);
    WantPort(kReplySourcePort, filter.replySourcePort);
    WantPort(kReplyDestinationPort, filter.replyDestinationPort);
    Want(kZone, filter.zone);
    Want(kFamily, filter.family);
    Want(kProtocol, filter.protocol);
    Want(kMark, filter.mark, filter.markMask.value_or(UINT32_MAX));
    value = value.Masked(mask);
  }
};

// The one value that all filters have, or 0.
uint8_t Common(const std::vector<Filter>& filters, Opt<uint8_t> Filter::*field) {
  if (filters.empty() || !(filters[0].*field)) return 0;
  const bool same =
      std::all_of(filters.begin(), filters.end(), [&](const Filter& filter) { return filter.*field == filters[0].*field; });
  return same ? *(filters[0].*field) : 0;
}

}  // namespace

void Filter::Complete() {
  auto agree = [&](const Opt<IpPrefix>& prefix, const char* name) {
    if (!prefix) return;
    const auto of = static_cast<uint8_t>(prefix->address.family());
    if (family && *family != of) ThrowField(name, "must be of the family of the rest");
    family = of;
  };
  agree(originalSource, "originalSource");
  agree(originalDestination, "originalDestination");
  agree(replySource, "replySource");
  agree(replyDestination, "replyDestination");
  if (markMask && !mark) ThrowField("markMask", "needs a mark");
  const bool ports = originalSourcePort || originalDestinationPort || replySourcePort || replyDestinationPort;
  if (ports && protocol && !HasPorts(*protocol)) ThrowField("protocol", "has no ports to filter by");
  // An empty filter is more likely a mistake than a wish to lose every flow.
  if (!family && !protocol && !ports && !zone && !mark) throw InputError("a filter must name at least one field");
}

FlowKey FlowKey::Masked(const FlowKey& mask) const {
  FlowKey out;
  for (size_t i = 0; i < kSize; ++i) out.bytes[i] = bytes[i] & mask.bytes[i];
  return out;
}

FlowKey FlowKey::Of(const Flow& flow) {
  FlowKey key;
  const Tuple none;
  const Tuple& original = flow.original ? *flow.original : none;
  const Tuple& reply = flow.reply ? *flow.reply : none;
  PutAddress(key, kOriginalSource, original.source);
  PutAddress(key, kOriginalDestination, original.destination);
  PutAddress(key, kReplySource, reply.source);
  PutAddress(key, kReplyDestination, reply.destination);
  PutField(key, kOriginalSourcePort, original.sourcePort.value_or(Be16{}).value);
  PutField(key, kOriginalDestinationPort, original.destinationPort.value_or(Be16{}).value);
  PutField(key, kReplySourcePort, reply.sourcePort.value_or(Be16{}).value);
  PutField(key, kReplyDestinationPort, reply.destinationPort.value_or(Be16{}).value);
  PutField<uint8_t>(key, kPorts, original.sourcePort && original.destinationPort ? 1 : 0);
  // A zone may hold for both directions or stand in the tuple of one.
  const auto& zone = flow.zone ? flow.zone : original.zone ? original.zone : reply.zone;
  PutField(key, kZone, zone.value_or(Be16{}).value);
  PutField(key, kFamily, flow.family.value_or(0));
  PutField(key, kProtocol, flow.protocol.value_or(0));
  PutField(key, kMark, flow.mark.value_or(Be32{}).value);
  return key;
}

FilterSet::FilterSet(const std::vector<Filter>& filters)
    : family_(Common(filters, &Filter::family)), protocol_(Common(filters, &Filter::protocol)) {
  std::unordered_map<FlowKey, size_t, FlowKeyHash> shapeOf;
  for (const Filter& filter : filters) {
    const Condition condition(filter);
    const auto [at, isNew] = shapeOf.try_emplace(condition.mask, shapes_.size());
    if (isNew) shapes_.push_back({condition.mask, {}});
    shapes_[at->second].wanted.insert(condition.value);
  }
}

bool FilterSet::Matches(const Flow& flow) const {
  if (all_) return true;
  const FlowKey key = FlowKey::Of(flow);
  return std::any_of(shapes_.begin(), shapes_.end(),
                     [&](const Shape& shape) { return shape.wanted.contains(key.Masked(shape.mask)); });
}

}  // namespace trellis::netlink::conntrack
