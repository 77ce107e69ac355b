#include "cni/compose.h"

#include <algorithm>
#include <cstdio>

namespace trellis::cni {

namespace {

void WriteReal(json::Writer& to, double value) {
  char text[32];
  const int size = snprintf(text, sizeof text, "%.17g", value);
  to.Raw({text, static_cast<size_t>(size)});
}

}  // namespace

void WriteValue(json::Writer& to, const json::Value& value) {
  switch (value.type()) {
    case json::Type::Null:
      return to.Null();
    case json::Type::Bool:
      return to.Bool(value.boolean());
    case json::Type::Integer:
      return to.Integer(value.integer());
    case json::Type::Real:
      return WriteReal(to, value.real());
    case json::Type::String:
      return to.String(value.string());
    case json::Type::Array:
      to.BeginArray();
      for (const auto& item : value.items()) WriteValue(to, item);
      return to.EndArray();
    case json::Type::Object:
      to.BeginObject();
      CopyMembers(to, &value, {});
      return to.EndObject();
  }
}

void CopyMembers(json::Writer& to, const json::Value* object, std::initializer_list<std::string_view> except) {
  if (object == nullptr) return;
  for (const auto& [name, value] : object->members()) {
    if (std::find(except.begin(), except.end(), name) != except.end()) continue;
    to.Key(name);
    WriteValue(to, value);
  }
}

void CopyMember(json::Writer& to, const json::Value& object, std::string_view name) {
  const json::Value* value = object.Find(name);
  if (value == nullptr) return;
  to.Key(name);
  WriteValue(to, *value);
}

}  // namespace trellis::cni
