// IP addresses, prefixes and hardware addresses as values, with their text forms.
// Guarantees: parsing accepts only the canonical notations and never reads outside its input.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trellis {

using Bytes = std::span<const uint8_t>;

struct IpAddress {
  uint8_t length = 0;  // 4 or 16; 0 is "none"
  std::array<uint8_t, 16> octets{};

  int family() const;
  Bytes bytes() const { return {octets.data(), length}; }
  bool operator==(const IpAddress&) const = default;

  static std::optional<IpAddress> Parse(std::string_view text);
  static std::optional<IpAddress> FromBytes(Bytes bytes);
  static IpAddress Zero(int family);
  std::string ToString() const;
};

// An address with a prefix length: an interface's address or a route's destination.
struct IpPrefix {
  IpAddress address;
  uint8_t length = 0;

  // "10.0.0.1/24"; without a slash the whole address counts.
  static std::optional<IpPrefix> Parse(std::string_view text);
  std::string ToString() const;
};

// A link-layer address. Most are Ethernet's six bytes, but tunnels use others.
struct HardwareAddress {
  uint8_t length = 0;
  std::array<uint8_t, 32> octets{};

  Bytes bytes() const { return {octets.data(), length}; }
  static std::optional<HardwareAddress> Parse(std::string_view text);
  static std::optional<HardwareAddress> FromBytes(Bytes bytes);
  std::string ToString() const;
};

std::string ToHex(Bytes bytes);
std::optional<std::string> FromHex(std::string_view text);

}  // namespace trellis
