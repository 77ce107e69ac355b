#include "host-local/range.h"

#include <algorithm>

#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni {

namespace {

IpAddress LastOf(const IpPrefix& subnet) {
  IpAddress last = NetworkOf(subnet);
  for (size_t bit = subnet.length; bit < last.length * 8u; ++bit) last.octets[bit / 8] |= static_cast<uint8_t>(0x80 >> (bit % 8));
  if (last.length == 4) --last.octets[3];  // the broadcast address is nobody's
  return last;
}

[[noreturn]] void Refuse(const std::string& what) { throw Error(Code::InvalidConfiguration, "invalid IPAM range", what); }

}  // namespace

IpAddress Next(IpAddress address) {
  for (size_t i = address.length; i-- > 0;)
    if (++address.octets[i] != 0) break;
  return address;
}

bool Less(const IpAddress& a, const IpAddress& b) {
  return std::lexicographical_compare(a.octets.begin(), a.octets.begin() + a.length, b.octets.begin(),
                                      b.octets.begin() + b.length);
}

IpAddress NetworkOf(const IpPrefix& prefix) {
  IpAddress network = prefix.address;
  for (size_t bit = prefix.length; bit < network.length * 8u; ++bit)
    network.octets[bit / 8] &= static_cast<uint8_t>(~(0x80 >> (bit % 8)));
  return network;
}

Range Range::Parse(const json::Value& from) {
  Range range;
  const auto subnet = Prefix(from, "subnet");
  if (!subnet) Refuse("a range needs its \"subnet\", like \"10.1.0.0/16\"");
  range.subnet = *subnet;
  const std::string text = subnet->ToString();
  if (subnet->length + 2 > subnet->address.length * 8) Refuse("Network " + text + " too small to allocate from");
  const IpAddress network = NetworkOf(*subnet);
  if (!(network == subnet->address))
    Refuse("Network has host bits set. For a subnet mask of length " + std::to_string(subnet->length) +
           " the network address is " + network.ToString());
  range.gateway = Address(from, "gateway").value_or(Next(network));
  range.start = Address(from, "rangeStart").value_or(Next(network));
  range.end = Address(from, "rangeEnd").value_or(LastOf(*subnet));
  for (const auto& [name, address] : {std::pair{"rangeStart", &range.start}, {"rangeEnd", &range.end}}) {
    const bool inside = address->length == network.length && NetworkOf({*address, subnet->length}) == network;
    if (!inside) Refuse(std::string(name) + " " + address->ToString() + " not in network " + text);
  }
  if (Less(range.end, range.start))
    Refuse("rangeStart " + range.start.ToString() + " is behind rangeEnd " + range.end.ToString());
  return range;
}

bool Range::Contains(const IpAddress& address) const {
  return address.length == start.length && !Less(address, start) && !Less(end, address);
}

RangeSet RangeSet::Parse(const json::Value& list) {
  if (!list.IsArray() || list.items().empty()) Refuse("each of \"ranges\" is a list of at least one range");
  RangeSet set;
  for (const auto& item : list.items()) {
    if (!item.IsObject()) Refuse("each of \"ranges\" is a list of ranges like {\"subnet\": \"10.1.0.0/16\"}");
    set.ranges.push_back(Range::Parse(item));
    if (set.ranges.back().subnet.address.family() != set.family()) Refuse("mixed address families in one range set");
  }
  for (size_t i = 0; i < set.ranges.size(); ++i)
    for (size_t j = i + 1; j < set.ranges.size(); ++j)
      if (RangeSet{{set.ranges[i]}}.Overlaps(RangeSet{{set.ranges[j]}}))
        Refuse("subnets " + set.ranges[i].ToString() + " and " + set.ranges[j].ToString() + " overlap");
  return set;
}

const Range* RangeSet::Find(const IpAddress& address) const {
  for (const Range& range : ranges)
    if (range.Contains(address)) return &range;
  return nullptr;
}

bool RangeSet::Overlaps(const RangeSet& other) const {
  for (const Range& a : ranges)
    for (const Range& b : other.ranges)
      if (a.Contains(b.start) || a.Contains(b.end) || b.Contains(a.start) || b.Contains(a.end)) return true;
  return false;
}

std::string RangeSet::ToString() const {
  std::string text;
  for (const Range& range : ranges) text += (text.empty() ? "" : ",") + range.ToString();
  return text;
}

const Range* RangeSet::Walk(const std::optional<IpAddress>& last, const std::function<bool(const IpAddress&)>& take) const {
  size_t index = 0;
  std::optional<IpAddress> current;
  for (size_t i = 0; last && i < ranges.size(); ++i)
    if (ranges[i].Contains(*last)) {
      index = i;
      current = last;
    }
  std::optional<IpAddress> first;
  while (true) {
    if (!current) {
      current = ranges[index].start;
    } else if (*current == ranges[index].end) {
      index = (index + 1) % ranges.size();
      current = ranges[index].start;
    } else {
      current = Next(*current);
    }
    if (!first) first = current;
    else if (*current == *first) return nullptr;
    if (!(*current == ranges[index].gateway) && take(*current)) return &ranges[index];
  }
}

}  // namespace trellis::cni
