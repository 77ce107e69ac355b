// Which flows are meant: any number of filters, matched together.
// Guarantees: a flow costs one hash lookup for each combination of fields in use, however many filters share it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "netlink/conntrack/flow.h"

namespace trellis::netlink::conntrack {

// The fields that are there must all match. Addresses may be prefixes.
struct Filter {
  Opt<uint8_t> family, protocol;
  Opt<IpPrefix> originalSource, originalDestination, replySource, replyDestination;
  Opt<uint16_t> originalSourcePort, originalDestinationPort, replySourcePort, replyDestinationPort;
  Opt<uint16_t> zone;
  Opt<uint32_t> mark, markMask;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kFlowFamilies);
    c.PlainNamed("protocol", protocol, kFlowProtocols);
    c.Plain("originalSource", originalSource);
    c.Plain("originalDestination", originalDestination);
    c.Plain("replySource", replySource);
    c.Plain("replyDestination", replyDestination);
    c.Plain("originalSourcePort", originalSourcePort);
    c.Plain("originalDestinationPort", originalDestinationPort);
    c.Plain("replySourcePort", replySourcePort);
    c.Plain("replyDestinationPort", replyDestinationPort);
    c.Plain("zone", zone);
    c.Plain("mark", mark);
    c.Plain("markMask", markMask);
  }

  // Checks that the fields go together and fills in the family that the addresses tell.
  void Complete();
};

// What filters look at, laid out as bytes, so that a combination of fields is a mask over them.
struct FlowKey {
  static constexpr size_t kSize = 88;
  alignas(8) std::array<uint8_t, kSize> bytes{};

  bool operator==(const FlowKey&) const = default;
  FlowKey Masked(const FlowKey& mask) const;
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  static FlowKey Of(const Flow& flow);
};

struct FlowKeyHash {
  size_t operator()(const FlowKey& key) const { return std::hash<std::string_view>{}(key.view()); }
};

// A flow is meant if any filter matches; one without filters to choose by means every flow.
class FilterSet {
 public:
  FilterSet() : all_(true) {}
  explicit FilterSet(const std::vector<Filter>& filters);

  bool MeansAll() const { return all_; }
  bool Matches(const Flow& flow) const;

  // What every filter asks for alike, if anything: the kernel need not send other flows. 0 is "any".
  uint8_t family() const { return family_; }
  uint8_t protocol() const { return protocol_; }

 private:
  struct Shape {
    FlowKey mask;
    std::unordered_set<FlowKey, FlowKeyHash> wanted;
  };
  std::vector<Shape> shapes_;
  bool all_ = false;
  uint8_t family_ = 0;
  uint8_t protocol_ = 0;
};

}  // namespace trellis::netlink::conntrack
