// The text forms of addresses, prefixes, hardware addresses, bytes, tc handles and port ranges.
// Property: what is read and written reads back as the same value.
#include "fuzz/fuzz.h"
#include "netlink/route/qdisc.h"
#include "netlink/route/rule.h"

namespace trellis::netlink {

namespace {

bool Same(const TcHandle& a, const TcHandle& b) { return a.value == b.value; }
bool Same(const PortRange& a, const PortRange& b) { return a.first == b.first && a.last == b.last; }

template <class T>
void RoundTrip(const json::Value& value) {
  fuzz::Accepts([&] {
    T read, again;
    ReadJson(value, "field", read);
    json::Writer to;
    WriteJson(to, read);
    const json::Document written(to.Take());
    ReadJson(written.root(), "field", again);
    MUST(Same(read, again));
  });
}

}  // namespace

}  // namespace trellis::netlink

FUZZ_TARGET {
  using namespace trellis;
  const std::string_view text = fuzz::TextOf(input);
  if (const auto ip = IpAddress::Parse(text)) MUST(IpAddress::Parse(ip->ToString()) == ip);
  if (const auto prefix = IpPrefix::Parse(text)) {
    const auto again = IpPrefix::Parse(prefix->ToString());
    MUST(again && again->address == prefix->address && again->length == prefix->length);
  }
  if (const auto mac = HardwareAddress::Parse(text)) {
    const auto again = HardwareAddress::Parse(mac->ToString());
    MUST(again && again->length == mac->length && again->octets == mac->octets);
  }
  if (const auto bytes = FromHex(text))
    MUST(FromHex(ToHex({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()})) == bytes);
  MUST(FromHex(ToHex(input)) == text);
  if (const auto ip = IpAddress::FromBytes(input)) MUST(IpAddress::Parse(ip->ToString()) == ip);

  const json::Document value(fuzz::Quoted(text));
  netlink::RoundTrip<netlink::TcHandle>(value.root());
  netlink::RoundTrip<netlink::PortRange>(value.root());
}
