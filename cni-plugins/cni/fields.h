// Reads fields of a network configuration or result by name.
// Guarantees: an absent field is the empty value; one of the wrong type is an Error that names it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/json.h"

namespace trellis::cni {

std::string String(const json::Value& object, const char* name);
std::vector<std::string> Strings(const json::Value& object, const char* name);
std::optional<int64_t> Integer(const json::Value& object, const char* name);
std::optional<bool> Bool(const json::Value& object, const char* name);
std::optional<IpAddress> Address(const json::Value& object, const char* name);
std::optional<IpPrefix> Prefix(const json::Value& object, const char* name);
IpPrefix RequirePrefix(const json::Value& object, const char* name);
// The object of that name, or null.
const json::Value* Object(const json::Value& object, const char* name);
// The objects of the list of that name.
std::vector<const json::Value*> List(const json::Value& object, const char* name);

}  // namespace trellis::cni
