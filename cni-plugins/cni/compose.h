// Makes one configuration out of parts of another, for plugins that delegate.
// Guarantees: values are copied as they are; what is copied parses to the same value.
#pragma once
#include <initializer_list>
#include <string_view>

#include "base/json.h"

namespace trellis::cni {

void WriteValue(json::Writer& to, const json::Value& value);
// Copies the members of an object into the one being written, except those named. A null object has none.
void CopyMembers(json::Writer& to, const json::Value* object, std::initializer_list<std::string_view> except);
// Copies the member of that name, if the object has it.
void CopyMember(json::Writer& to, const json::Value& object, std::string_view name);

}  // namespace trellis::cni
