// ipset's numbers: in network byte order, and their attributes must say so.
// Guarantees: reads what it writes.
#pragma once
#include "netlink/codec.h"

namespace trellis::netlink {

template <Number T>
struct NetOrder {
  T value = 0;
};
using Net16 = NetOrder<uint16_t>;
using Net32 = NetOrder<uint32_t>;
using Net64 = NetOrder<uint64_t>;

template <Number T>
constexpr T SwapToNet(T value) {
  if constexpr (sizeof(T) == 2) return htobe16(value);
  else if constexpr (sizeof(T) == 4) return htobe32(value);
  else return htobe64(value);
}

template <Number T>
void ReadJson(const json::Value& from, std::string_view name, NetOrder<T>& to) {
  ReadJson(from, name, to.value);
}
template <Number T>
void WriteJson(json::Writer& to, const NetOrder<T>& from) {
  to.Unsigned(from.value);
}
template <Number T>
void PutAttribute(Batch& to, uint16_t type, const NetOrder<T>& from) {
  to.PutValue(static_cast<uint16_t>(type | NLA_F_NET_BYTEORDER), SwapToNet(from.value));
}
template <Number T>
void GetAttribute(Bytes from, NetOrder<T>& to) {
  to.value = SwapToNet(ReadValue<T>(from));
}

}  // namespace trellis::netlink
