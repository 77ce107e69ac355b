// The JSON reader against the writer.
// Property: what is read, written and read again is the same value, and writing that gives the same text.
#include "base/json.h"

#include <charconv>
#include <cmath>

#include "fuzz/fuzz.h"

namespace trellis::json {

namespace {

void Write(Writer& to, const Value& value) {
  switch (value.type()) {
    case Type::Null:
      return to.Null();
    case Type::Bool:
      return to.Bool(value.boolean());
    case Type::Integer:
      return to.Integer(value.integer());
    case Type::Real: {
      if (std::isinf(value.real())) return to.Raw(value.real() > 0 ? "1e999" : "-1e999");
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, value.real(), std::chars_format::scientific).ptr;
      return to.Raw({text, static_cast<size_t>(end - text)});
    }
    case Type::String:
      return to.String(value.string());
    case Type::Array:
      to.BeginArray();
      for (const auto& item : value.items()) Write(to, item);
      return to.EndArray();
    case Type::Object:
      to.BeginObject();
      for (const auto& [name, member] : value.members()) {
        to.Key(name);
        Write(to, member);
      }
      return to.EndObject();
  }
}

bool Equal(const Value& a, const Value& b) {
  if (a.type() != b.type() || a.boolean() != b.boolean() || a.integer() != b.integer() || a.string() != b.string()) return false;
  if (a.type() == Type::Real && a.real() != b.real()) return false;
  if (a.items().size() != b.items().size() || a.members().size() != b.members().size()) return false;
  auto item = b.items().begin();
  for (const auto& one : a.items()) {
    if (!Equal(one, *item)) return false;
    ++item;
  }
  auto member = b.members().begin();
  for (const auto& [name, value] : a.members()) {
    if (name != (*member).first || !Equal(value, (*member).second)) return false;
    ++member;
  }
  return true;
}

std::string Text(const Value& value) {
  Writer to;
  Write(to, value);
  return to.Take();
}

}  // namespace

}  // namespace trellis::json

FUZZ_TARGET {
  using namespace trellis;
  // The writer must turn any bytes into a string that can be read.
  json::Writer any;
  any.String(fuzz::TextOf(input));
  MUST(json::Document(any.Take()).root().IsString());

  fuzz::Accepts([&] {
    const json::Document first(fuzz::TextOf(input));
    const std::string text = json::Text(first.root());
    const json::Document second(text);
    MUST(json::Equal(first.root(), second.root()));
    MUST(json::Text(second.root()) == text);
  });
}
