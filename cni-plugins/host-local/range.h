// Ranges of addresses to hand out, and the walk through them.
// Guarantees: pure; the same rules and order as the reference host-local plugin.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/json.h"

namespace trellis::cni {

struct Range {
  IpPrefix subnet;
  IpAddress start, end;  // both inclusive
  IpAddress gateway;

  // Reads {"subnet", "rangeStart", "rangeEnd", "gateway"} and fills in what is not said. Throws Error.
  static Range Parse(const json::Value& from);
  bool Contains(const IpAddress& address) const;
  std::string ToString() const { return start.ToString() + "-" + end.ToString(); }
};

// One address is handed out of each set.
struct RangeSet {
  std::vector<Range> ranges;

  static RangeSet Parse(const json::Value& list);
  int family() const { return ranges[0].subnet.address.family(); }
  const Range* Find(const IpAddress& address) const;
  bool Overlaps(const RangeSet& other) const;
  std::string ToString() const;

  // Offers every address once, beginning behind `last` and going round, gateways left out, until `take` says yes.
  // Returns the range of the one taken.
  const Range* Walk(const std::optional<IpAddress>& last, const std::function<bool(const IpAddress&)>& take) const;
};

IpAddress Next(IpAddress address);
bool Less(const IpAddress& a, const IpAddress& b);
// The network a prefix lies in: 10.1.2.3/16 is in 10.1.0.0.
IpAddress NetworkOf(const IpPrefix& prefix);

}  // namespace trellis::cni
