// One description of an object's fields serves four ways: from JSON, to JSON, to attributes, from attributes.
// Guarantees: what one way writes the other reads back; a wrong JSON value is an InputError that names the field.
//
// A described type has `template <class C> void Describe(C& c)` which tells each field once:
//   c("mtu", IFLA_MTU, mtu);                      an attribute with a JSON name
//   c.Named("scope", RTA_X, scope, kScopes);      a number with words
//   c.Nest("vxlan", IFLA_INFO_DATA, vxlan);       a described type inside a nested attribute
//   c.Plain("family", family) / c.PlainNamed(..)  JSON only: it travels in a header or needs work of its own
//   c.PlainObject("peer", peer) / c.PlainList(..) a described type, or a list of them, JSON only
#pragma once
#include <endian.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ip.h"
#include "base/json.h"
#include "netlink/attributes.h"
#include "netlink/message.h"
#include "netlink/names.h"

namespace trellis::netlink {

template <class T>
using Opt = std::optional<T>;

// Numbers in network byte order on the wire.
struct Be16 {
  uint16_t value = 0;
};
struct Be32 {
  uint32_t value = 0;
};
struct Be64 {
  uint64_t value = 0;
};
// An attribute without payload: there or not.
struct Presence {
  bool value = false;
};
// Uninterpreted bytes; hexadecimal in JSON.
struct Blob {
  std::string value;
};
// A link by name or index; names are resolved to indexes just before the message is built.
struct LinkRef {
  std::string name;
  uint32_t index = 0;
};

// ---- JSON to value ------------------------------------------------------------------------------------------------

[[noreturn]] void ThrowField(std::string_view name, std::string_view expected);

template <class T>
concept Number = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <Number T>
void ReadJson(const json::Value& from, std::string_view name, T& to) {
  const int64_t number = from.integer();
  const bool fits = from.IsInteger() && std::in_range<T>(number);
  // u64 above 2^63 reaches us as a real; JavaScript cannot express those exactly anyway.
  if (!fits)
    ThrowField(name, "must be a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                         std::to_string(std::numeric_limits<T>::max()));
  to = static_cast<T>(number);
}
void ReadJson(const json::Value& from, std::string_view name, bool& to);
void ReadJson(const json::Value& from, std::string_view name, std::string& to);
void ReadJson(const json::Value& from, std::string_view name, IpAddress& to);
void ReadJson(const json::Value& from, std::string_view name, IpPrefix& to);
void ReadJson(const json::Value& from, std::string_view name, HardwareAddress& to);
void ReadJson(const json::Value& from, std::string_view name, LinkRef& to);
void ReadJson(const json::Value& from, std::string_view name, Blob& to);
inline void ReadJson(const json::Value& from, std::string_view name, Presence& to) { ReadJson(from, name, to.value); }
inline void ReadJson(const json::Value& from, std::string_view name, Be16& to) { ReadJson(from, name, to.value); }
inline void ReadJson(const json::Value& from, std::string_view name, Be32& to) { ReadJson(from, name, to.value); }
inline void ReadJson(const json::Value& from, std::string_view name, Be64& to) { ReadJson(from, name, to.value); }

template <class T>
void ReadJson(const json::Value& from, std::string_view name, std::vector<T>& to) {
  if (!from.IsArray()) ThrowField(name, "must be a list");
  for (const auto& item : from.items()) ReadJson(item, name, to.emplace_back());
}

uint32_t ReadWord(const json::Value& from, std::string_view name, Names names, uint32_t max);

// The word for a type of link or qdisc; the kernel holds it in a module's name.
void CheckType(const Opt<std::string>& type);

// ---- value to JSON ------------------------------------------------------------------------------------------------

template <Number T>
void WriteJson(json::Writer& to, const T& from) {
  if constexpr (std::is_signed_v<T>) to.Integer(from);
  else to.Unsigned(from);
}
inline void WriteJson(json::Writer& to, const bool& from) { to.Bool(from); }
inline void WriteJson(json::Writer& to, const std::string& from) { to.String(from); }
inline void WriteJson(json::Writer& to, const IpAddress& from) { to.String(from.ToString()); }
inline void WriteJson(json::Writer& to, const IpPrefix& from) { to.String(from.ToString()); }
inline void WriteJson(json::Writer& to, const HardwareAddress& from) { to.String(from.ToString()); }
inline void WriteJson(json::Writer& to, const Presence& from) { to.Bool(from.value); }
inline void WriteJson(json::Writer& to, const Be16& from) { to.Unsigned(from.value); }
inline void WriteJson(json::Writer& to, const Be32& from) { to.Unsigned(from.value); }
inline void WriteJson(json::Writer& to, const Be64& from) { to.Unsigned(from.value); }
inline void WriteJson(json::Writer& to, const LinkRef& from) {
  if (from.name.empty()) to.Unsigned(from.index);
  else to.String(from.name);
}
inline void WriteJson(json::Writer& to, const Blob& from) {
  to.String(ToHex({reinterpret_cast<const uint8_t*>(from.value.data()), from.value.size()}));
}
template <class T>
void WriteJson(json::Writer& to, const std::vector<T>& from) {
  to.BeginArray();
  for (const auto& item : from) WriteJson(to, item);
  to.EndArray();
}

// ---- flag words ---------------------------------------------------------------------------------------------------

// Bits as a list of words; the bits without a word are dropped when read.
uint32_t ReadFlagWords(const json::Value& from, std::string_view name, Names names);
void WriteFlagWords(json::Writer& to, uint32_t bits, Names names);

template <const auto& Words>
struct WordFlags {
  uint32_t value = 0;
};
template <const auto& Words>
void ReadJson(const json::Value& from, std::string_view name, WordFlags<Words>& to) {
  to.value = ReadFlagWords(from, name, Words);
}
template <const auto& Words>
void WriteJson(json::Writer& to, const WordFlags<Words>& from) {
  WriteFlagWords(to, from.value, Words);
}
// ---- value to attribute and back ----------------------------------------------------------------------------------

template <Number T>
void PutAttribute(Batch& to, uint16_t type, const T& from) {
  to.PutValue(type, from);
}
inline void PutAttribute(Batch& to, uint16_t type, const bool& from) { to.PutValue<uint8_t>(type, from ? 1 : 0); }
inline void PutAttribute(Batch& to, uint16_t type, const std::string& from) { to.PutString(type, from); }
inline void PutAttribute(Batch& to, uint16_t type, const IpAddress& from) { to.Put(type, from.bytes()); }
inline void PutAttribute(Batch& to, uint16_t type, const HardwareAddress& from) { to.Put(type, from.bytes()); }
inline void PutAttribute(Batch& to, uint16_t type, const Be16& from) { to.PutValue(type, htobe16(from.value)); }
inline void PutAttribute(Batch& to, uint16_t type, const Be32& from) { to.PutValue(type, htobe32(from.value)); }
inline void PutAttribute(Batch& to, uint16_t type, const Be64& from) { to.PutValue(type, htobe64(from.value)); }
inline void PutAttribute(Batch& to, uint16_t type, const LinkRef& from) { to.PutValue(type, from.index); }
inline void PutAttribute(Batch& to, uint16_t type, const Blob& from) { to.Put(type, from.value.data(), from.value.size()); }
inline void PutAttribute(Batch& to, uint16_t type, const Presence& from) {
  if (from.value) to.PutFlag(type);
}

template <Number T>
void GetAttribute(Bytes from, T& to) {
  to = ReadValue<T>(from);
}
inline void GetAttribute(Bytes from, bool& to) { to = ReadValue<uint8_t>(from) != 0; }
inline void GetAttribute(Bytes from, std::string& to) { to = ReadString(from); }
inline void GetAttribute(Bytes from, Be16& to) { to.value = be16toh(ReadValue<uint16_t>(from)); }
inline void GetAttribute(Bytes from, Be32& to) { to.value = be32toh(ReadValue<uint32_t>(from)); }
inline void GetAttribute(Bytes from, Be64& to) { to.value = be64toh(ReadValue<uint64_t>(from)); }
inline void GetAttribute(Bytes from, LinkRef& to) { to.index = ReadValue<uint32_t>(from); }
inline void GetAttribute(Bytes from, Blob& to) { to.value.assign(reinterpret_cast<const char*>(from.data()), from.size()); }
inline void GetAttribute(Bytes, Presence& to) { to.value = true; }
void GetAttribute(Bytes from, IpAddress& to);
void GetAttribute(Bytes from, HardwareAddress& to);

// As attributes, flag words are nf_tables': 32 bits in network byte order. rtnetlink's travel in headers.
template <const auto& Words>
void PutAttribute(Batch& to, uint16_t type, const WordFlags<Words>& from) {
  to.PutValue(type, htobe32(from.value));
}
template <const auto& Words>
void GetAttribute(Bytes from, WordFlags<Words>& to) {
  to.value = be32toh(ReadValue<uint32_t>(from));
}

// A number field, whatever its byte order, for the tables of words.
template <class T>
auto& NumberOf(T& field) {
  if constexpr (requires { field.value; }) return field.value;
  else return field;
}

// ---- the four visitors --------------------------------------------------------------------------------------------

// Fills fields from a JSON object. Finish() refuses members that no field asked for.
class FromJson {
 public:
  explicit FromJson(const json::Value& object);

  template <class T>
  void operator()(const char* name, uint16_t, Opt<T>& field) {
    Plain(name, field);
  }
  template <class T>
  void Named(const char* name, uint16_t, Opt<T>& field, Names names) {
    PlainNamed(name, field, names);
  }
  template <class T>
  void Nest(const char* name, uint16_t, Opt<T>& field) {
    PlainObject(name, field);
  }
  template <class T>
  void Plain(const char* name, Opt<T>& field) {
    if (const auto* value = Take(name)) ReadJson(*value, name, field.emplace());
  }
  template <class T>
  void PlainNamed(const char* name, Opt<T>& field, Names names) {
    if (const auto* value = Take(name)) {
      auto& number = NumberOf(field.emplace());
      using N = std::remove_reference_t<decltype(number)>;
      number = static_cast<N>(ReadWord(*value, name, names, static_cast<uint32_t>(std::numeric_limits<N>::max())));
    }
  }
  template <class T>
  void PlainObject(const char* name, Opt<T>& field) {
    if (const auto* value = Take(name)) ReadObject(*value, name, field.emplace());
  }
  template <class T>
  void PlainList(const char* name, std::vector<T>& field) {
    const auto* value = Take(name);
    if (value == nullptr) return;
    if (!value->IsArray()) ThrowField(name, "must be a list");
    for (const auto& item : value->items()) ReadObject(item, name, field.emplace_back());
  }
  // Takes a member that is not a field, so that Finish() knows it.
  const json::Value* Take(std::string_view name);
  void Finish() const;

 private:
  template <class T>
  static void ReadObject(const json::Value& value, const char* name, T& to) {
    if (!value.IsObject()) ThrowField(name, "must be an object");
    FromJson inner(value);
    to.Describe(inner);
    inner.Finish();
  }
  const json::Value& object_;
  std::vector<bool> taken_;
};

class ToJson {
 public:
  explicit ToJson(json::Writer& to) : to_(to) {}

  template <class T>
  void operator()(const char* name, uint16_t, const Opt<T>& field) {
    Plain(name, field);
  }
  template <class T>
  void Named(const char* name, uint16_t, const Opt<T>& field, Names names) {
    PlainNamed(name, field, names);
  }
  template <class T>
  void Nest(const char* name, uint16_t, Opt<T>& field) {
    PlainObject(name, field);
  }
  template <class T>
  void Plain(const char* name, const Opt<T>& field) {
    if (!field) return;
    to_.Key(name);
    WriteJson(to_, *field);
  }
  template <class T>
  void PlainNamed(const char* name, const Opt<T>& field, Names names) {
    if (!field) return;
    to_.Key(name);
    const auto word = WordOf(names, NumberOf(*field));
    if (word) to_.String(*word);
    else to_.Unsigned(NumberOf(*field));
  }
  template <class T>
  void PlainObject(const char* name, Opt<T>& field) {
    if (!field) return;
    to_.Key(name);
    Object(*field);
  }
  template <class T>
  void PlainList(const char* name, std::vector<T>& field) {
    if (field.empty()) return;
    to_.Key(name);
    to_.BeginArray();
    for (auto& item : field) Object(item);
    to_.EndArray();
  }
  template <class T>
  void Object(T& described) {
    to_.BeginObject();
    described.Describe(*this);
    to_.EndObject();
  }

 private:
  json::Writer& to_;
};

// What has no attribute is passed over.
class AttributesOnly {
 public:
  template <class T>
  void Plain(const char*, const Opt<T>&) {}
  template <class T>
  void PlainNamed(const char*, const Opt<T>&, Names) {}
  template <class T>
  void PlainObject(const char*, const Opt<T>&) {}
  template <class T>
  void PlainList(const char*, const std::vector<T>&) {}
};

class ToAttributes : public AttributesOnly {
 public:
  explicit ToAttributes(Batch& to) : to_(to) {}

  template <class T>
  void operator()(const char*, uint16_t type, const Opt<T>& field) {
    if (field) PutAttribute(to_, type, *field);
  }
  template <class T>
  void Named(const char*, uint16_t type, const Opt<T>& field, Names) {
    if (field) PutAttribute(to_, type, *field);
  }
  template <class T>
  void Nest(const char*, uint16_t type, Opt<T>& field) {
    if (!field) return;
    const size_t start = to_.BeginNest(type);
    field->Describe(*this);
    to_.EndNest(start);
  }

 private:
  Batch& to_;
};

class FromAttributes : public AttributesOnly {
 public:
  explicit FromAttributes(Bytes bytes) : table_(bytes) {}
  explicit FromAttributes(const AttributeTable& table) : table_(table) {}

  template <class T>
  void operator()(const char*, uint16_t type, Opt<T>& field) {
    if (table_.Has(type)) GetAttribute(table_.Get(type), field.emplace());
  }
  template <class T>
  void Named(const char* name, uint16_t type, Opt<T>& field, Names) {
    (*this)(name, type, field);
  }
  template <class T>
  void Nest(const char*, uint16_t type, Opt<T>& field) {
    if (!table_.Has(type)) return;
    FromAttributes inner(table_.Get(type));
    field.emplace().Describe(inner);
  }
  const AttributeTable& table() const { return table_; }

 private:
  AttributeTable table_;
};

// Turns link names into indexes, wherever they stand.
template <class Resolve>
class ResolveLinks {
 public:
  explicit ResolveLinks(Resolve resolve) : resolve_(resolve) {}

  template <class T>
  void operator()(const char* name, uint16_t, Opt<T>& field) {
    Plain(name, field);
  }
  template <class T>
  void Named(const char*, uint16_t, Opt<T>&, Names) {}
  template <class T>
  void Nest(const char* name, uint16_t, Opt<T>& field) {
    PlainObject(name, field);
  }
  template <class T>
  void Plain(const char*, Opt<T>& field) {
    if constexpr (std::is_same_v<T, LinkRef>)
      if (field && !field->name.empty()) field->index = resolve_(field->name);
  }
  template <class T>
  void PlainNamed(const char*, Opt<T>&, Names) {}
  template <class T>
  void PlainObject(const char*, Opt<T>& field) {
    if (field) field->Describe(*this);
  }
  template <class T>
  void PlainList(const char*, std::vector<T>& field) {
    for (auto& item : field) item.Describe(*this);
  }

 private:
  Resolve resolve_;
};

}  // namespace trellis::netlink
