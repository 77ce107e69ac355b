// Reads netlink messages and their attributes.
// Guarantees: never looks outside the bytes it was given; what does not fit is a KernelError EBADMSG.
#pragma once
#include <linux/netlink.h>

#include <array>
#include <cstring>
#include <functional>
#include <string_view>
#include <type_traits>

#include "base/ip.h"

namespace trellis::netlink {

[[noreturn]] void ThrowMalformed(const char* what);

struct Attribute {
  uint16_t type;  // without the nested and byte-order flags
  Bytes data;
};

// Calls `visit` for each attribute in order. Trailing padding shorter than a header is allowed, as the kernel's is.
template <class Visit>
void ForEachAttribute(Bytes bytes, Visit visit) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr header;
    memcpy(&header, bytes.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > bytes.size()) ThrowMalformed("truncated attribute");
    visit(Attribute{static_cast<uint16_t>(header.nla_type & NLA_TYPE_MASK),
                    bytes.subspan(sizeof header, header.nla_len - sizeof header)});
    const size_t step = NLA_ALIGN(header.nla_len);
    bytes = bytes.subspan(step < bytes.size() ? step : bytes.size());
  }
}

// Attributes indexed by type; of two with the same type the later counts.
class AttributeTable {
 public:
  explicit AttributeTable(Bytes bytes);
  bool Has(uint16_t type) const { return type < present_.size() && present_[type]; }
  Bytes Get(uint16_t type) const { return Has(type) ? data_[type] : Bytes{}; }

 private:
  static constexpr size_t kTypes = 128;
  std::array<bool, kTypes> present_{};
  std::array<Bytes, kTypes> data_{};
};

// The fixed-size value at the start of `bytes`.
template <class T>
T ReadValue(Bytes bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < sizeof(T)) ThrowMalformed("value too short");
  T value;
  memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The text up to its NUL or the end.
inline std::string_view ReadString(Bytes bytes) {
  if (bytes.empty()) return {};  // a missing attribute has no bytes to point at
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, strnlen(text, bytes.size())};
}

// One message of a datagram: its header and what follows.
struct MessageView {
  nlmsghdr header;
  Bytes payload;

  // The family's own header, and the attributes behind it.
  template <class Header>
  Header Head() const {
    return ReadValue<Header>(payload);
  }
  template <class Header>
  Bytes Attributes() const {
    const size_t skip = NLMSG_ALIGN(sizeof(Header));
    return skip < payload.size() ? payload.subspan(skip) : Bytes{};
  }
};

// Calls `visit` for each message of a datagram.
void ForEachMessage(Bytes datagram, const std::function<void(const MessageView&)>& visit);

}  // namespace trellis::netlink
