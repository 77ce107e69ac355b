#include "base/ip.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace trellis {

namespace {

constexpr char kHex[] = "0123456789abcdef";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

int IpAddress::family() const { return length == 16 ? AF_INET6 : length == 4 ? AF_INET : AF_UNSPEC; }

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  char copy[INET6_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof copy || text.find('\0') != std::string_view::npos) return std::nullopt;
  memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  IpAddress ip;
  const bool v6 = text.find(':') != std::string_view::npos;
  if (inet_pton(v6 ? AF_INET6 : AF_INET, copy, ip.octets.data()) != 1) return std::nullopt;
  ip.length = v6 ? 16 : 4;
  return ip;
}

std::optional<IpAddress> IpAddress::FromBytes(Bytes bytes) {
  if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
  IpAddress ip;
  ip.length = static_cast<uint8_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), ip.octets.begin());
  return ip;
}

IpAddress IpAddress::Zero(int family) {
  IpAddress ip;
  ip.length = family == AF_INET6 ? 16 : 4;
  return ip;
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (length != 0) inet_ntop(family(), octets.data(), text, sizeof text);
  return text;
}

std::optional<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = IpAddress::Parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  IpPrefix prefix{*address, static_cast<uint8_t>(address->length * 8)};
  if (slash == std::string_view::npos) return prefix;
  const std::string_view digits = text.substr(slash + 1);
  unsigned length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc() || end != digits.data() + digits.size() || length > prefix.length) return std::nullopt;
  prefix.length = static_cast<uint8_t>(length);
  return prefix;
}

std::string IpPrefix::ToString() const { return address.ToString() + "/" + std::to_string(length); }

std::optional<HardwareAddress> HardwareAddress::Parse(std::string_view text) {
  HardwareAddress mac;
  for (size_t i = 0; i < text.size(); i += 3) {
    if (i + 2 > text.size() || mac.length == mac.octets.size()) return std::nullopt;
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    if (i + 2 < text.size() && (text[i + 2] != ':' || i + 3 == text.size())) return std::nullopt;
    mac.octets[mac.length++] = static_cast<uint8_t>(high << 4 | low);
  }
  if (mac.length == 0) return std::nullopt;
  return mac;
}

std::optional<HardwareAddress> HardwareAddress::FromBytes(Bytes bytes) {
  HardwareAddress mac;
  if (bytes.empty() || bytes.size() > mac.octets.size()) return std::nullopt;
  mac.length = static_cast<uint8_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), mac.octets.begin());
  return mac;
}

std::string HardwareAddress::ToString() const {
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    if (i > 0) text += ':';
    text += kHex[octets[i] >> 4];
    text += kHex[octets[i] & 15];
  }
  return text;
}

std::string ToHex(Bytes bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace trellis
