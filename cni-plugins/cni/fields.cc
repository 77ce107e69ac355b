#include "cni/fields.h"

#include <algorithm>
#include <cctype>

#include "cni/error.h"

namespace trellis::cni {

namespace {

[[noreturn]] void Fail(const char* name, const char* expected) {
  throw Error(Code::FailedToDecode, std::string("field \"") + name + "\" must be " + expected);
}

bool SameLetters(std::string_view one, std::string_view other) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), same);
}

// Runtimes in Go take names in any case, and containerd writes some, such as HostPort, in its own.
const json::Value* Find(const json::Value& object, const char* name) {
  const json::Value* value = object.Find(name);
  if (value == nullptr)
    for (const auto& [known, member] : object.members())
      if (SameLetters(known, name)) value = &member;
  return value != nullptr && value->IsNull() ? nullptr : value;
}

template <class Read>
auto Optional(const json::Value& object, const char* name, const char* expected, Read read) {
  const std::string text = String(object, name);
  decltype(read(text)) value;
  if (text.empty()) return value;
  value = read(text);
  if (!value) Fail(name, expected);
  return value;
}

constexpr const char* kPrefix = "an address with a prefix length, like \"10.1.0.0/16\" or \"fd00::/64\"";

}  // namespace

std::string String(const json::Value& object, const char* name) {
  const json::Value* value = Find(object, name);
  if (value == nullptr) return {};
  if (!value->IsString()) Fail(name, "a string");
  return std::string(value->string());
}

std::vector<std::string> Strings(const json::Value& object, const char* name) {
  std::vector<std::string> strings;
  const json::Value* value = Find(object, name);
  if (value == nullptr) return strings;
  if (!value->IsArray()) Fail(name, "a list of strings");
  for (const auto& item : value->items()) {
    if (!item.IsString()) Fail(name, "a list of strings");
    strings.emplace_back(item.string());
  }
  return strings;
}

std::optional<int64_t> Integer(const json::Value& object, const char* name) {
  const json::Value* value = Find(object, name);
  if (value == nullptr) return std::nullopt;
  if (!value->IsInteger()) Fail(name, "a whole number");
  return value->integer();
}

std::optional<bool> Bool(const json::Value& object, const char* name) {
  const json::Value* value = Find(object, name);
  if (value == nullptr) return std::nullopt;
  if (!value->IsBool()) Fail(name, "true or false");
  return value->boolean();
}

std::optional<IpAddress> Address(const json::Value& object, const char* name) {
  return Optional(object, name, "an IP address", [](const std::string& text) { return IpAddress::Parse(text); });
}

std::optional<IpPrefix> Prefix(const json::Value& object, const char* name) {
  return Optional(object, name, kPrefix, [](const std::string& text) { return IpPrefix::Parse(text); });
}

IpPrefix RequirePrefix(const json::Value& object, const char* name) {
  const auto prefix = Prefix(object, name);
  if (!prefix) Fail(name, kPrefix);
  return *prefix;
}

const json::Value* Object(const json::Value& object, const char* name) {
  const json::Value* value = Find(object, name);
  if (value != nullptr && !value->IsObject()) Fail(name, "an object");
  return value;
}

std::vector<const json::Value*> List(const json::Value& object, const char* name) {
  std::vector<const json::Value*> list;
  const json::Value* value = Find(object, name);
  if (value == nullptr) return list;
  if (!value->IsArray()) Fail(name, "a list of objects");
  for (const auto& item : value->items()) {
    if (!item.IsObject()) Fail(name, "a list of objects");
    list.push_back(&item);
  }
  return list;
}

}  // namespace trellis::cni
