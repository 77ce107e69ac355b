#include "netlink/codec.h"

namespace trellis::netlink {

void ThrowField(std::string_view name, std::string_view expected) {
  throw InputError("field '" + std::string(name) + "' " + std::string(expected));
}

void ReadJson(const json::Value& from, std::string_view name, bool& to) {
  if (!from.IsBool()) ThrowField(name, "must be true or false");
  to = from.boolean();
}

void ReadJson(const json::Value& from, std::string_view name, std::string& to) {
  if (!from.IsString()) ThrowField(name, "must be a string");
  if (from.string().find('\0') != std::string_view::npos) ThrowField(name, "must not hold a NUL character");
  to = from.string();
}

void ReadJson(const json::Value& from, std::string_view name, IpAddress& to) {
  const auto address = from.IsString() ? IpAddress::Parse(from.string()) : std::nullopt;
  if (!address) ThrowField(name, "must be an IP address, like \"10.0.0.1\" or \"fd00::1\"");
  to = *address;
}

void ReadJson(const json::Value& from, std::string_view name, IpPrefix& to) {
  const auto prefix = from.IsString() ? IpPrefix::Parse(from.string()) : std::nullopt;
  if (!prefix) ThrowField(name, "must be an address with a prefix length, like \"10.0.0.0/24\" or \"fd00::/64\"");
  to = *prefix;
}

void ReadJson(const json::Value& from, std::string_view name, HardwareAddress& to) {
  const auto mac = from.IsString() ? HardwareAddress::Parse(from.string()) : std::nullopt;
  if (!mac) ThrowField(name, "must be a hardware address, like \"02:00:00:00:00:01\"");
  to = *mac;
}

void ReadJson(const json::Value& from, std::string_view name, LinkRef& to) {
  if (from.IsString()) {
    ReadJson(from, name, to.name);
    if (to.name.empty()) ThrowField(name, "must name a link");
  } else {
    ReadJson(from, name, to.index);
  }
}

void ReadJson(const json::Value& from, std::string_view name, Blob& to) {
  auto bytes = from.IsString() ? FromHex(from.string()) : std::nullopt;
  if (!bytes) ThrowField(name, "must be bytes in hexadecimal");
  to.value = std::move(*bytes);
}

uint32_t ReadWord(const json::Value& from, std::string_view name, Names names, uint32_t max) {
  if (const int64_t number = from.integer(); from.IsInteger() && number >= 0 && number <= max)
    return static_cast<uint32_t>(number);
  if (from.IsString())
    if (const auto value = ValueOf(names, from.string())) return *value;
  ThrowField(name, "must be one of " + ListWords(names));
}

void CheckType(const Opt<std::string>& type) {
  constexpr size_t kMax = 31;
  if (type && (type->empty() || type->size() > kMax)) ThrowField("type", "must be 1 to " + std::to_string(kMax) + " bytes long");
}

uint32_t ReadFlagWords(const json::Value& from, std::string_view name, Names names) {
  if (!from.IsArray()) ThrowField(name, "must be a list of words");
  uint32_t bits = 0;
  for (const auto& item : from.items()) {
    const auto bit = item.IsString() ? ValueOf(names, item.string()) : std::nullopt;
    if (!bit)
      ThrowField(name, (item.IsString() ? "knows no '" + std::string(item.string()) + "'; it may hold " : "may hold ") +
                           ListWords(names));
    bits |= *bit;
  }
  return bits;
}

void WriteFlagWords(json::Writer& to, uint32_t bits, Names names) {
  to.BeginArray();
  for (const Name& name : names)
    if (bits & name.value) to.String(name.word);
  to.EndArray();
}

void GetAttribute(Bytes from, IpAddress& to) {
  const auto address = IpAddress::FromBytes(from);
  if (!address) ThrowMalformed("an address that is neither IPv4 nor IPv6");
  to = *address;
}

void GetAttribute(Bytes from, HardwareAddress& to) {
  if (const auto mac = HardwareAddress::FromBytes(from)) to = *mac;
}

FromJson::FromJson(const json::Value& object) : object_(object), taken_(object.members().size()) {}

const json::Value* FromJson::Take(std::string_view name) {
  const json::Value* found = nullptr;
  size_t index = 0;
  for (const auto& [known, value] : object_.members()) {
    if (known == name) {
      taken_[index] = true;
      found = &value;
    }
    ++index;
  }
  return found != nullptr && found->IsNull() ? nullptr : found;
}

void FromJson::Finish() const {
  size_t index = 0;
  for (const auto& [name, value] : object_.members())
    if (!taken_[index++]) throw InputError("unknown field '" + std::string(name) + "'");
}

}  // namespace trellis::netlink
