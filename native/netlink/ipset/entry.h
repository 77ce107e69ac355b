// Entries of sets: the text that ipset(8) reads and prints, and the attributes that the kernel takes and gives.
// Guarantees: text is checked against the set's type and family; what is listed can be added again as it is.
#pragma once
#include <string>

#include "netlink/ipset/net_order.h"
#include "netlink/ipset/type.h"

namespace trellis::netlink {

// What must be known of a set to read its entries.
struct SetShape {
  const SetType* type = nullptr;  // null: a type we cannot add to
  std::string typeName;
  uint8_t family = 0;  // AF_INET, AF_INET6, or 0 where the type has no addresses
};

// "10.0.0.1", "10.0.0.0/8" or "10.0.0.1-10.0.0.9".
struct AddressRange {
  IpAddress from;
  Opt<uint8_t> prefix;
  Opt<IpAddress> to;
};

struct SetEntry {
  Opt<AddressRange> address, second;
  Opt<uint8_t> protocol;
  Opt<Net16> port, portTo;
  Opt<Net32> mark;
  Opt<std::string> interface, member, reference;
  Opt<HardwareAddress> mac;
  Opt<Net32> timeout, flags;
  Opt<Net64> packets, bytes;
  Opt<std::string> comment;

  // A JSON string, or an object {entry, timeout, comment, packets, bytes, nomatch, before, after}.
  static SetEntry Read(const json::Value& value, const SetShape& shape);
  // How the JSON value reads in an error message.
  static std::string_view TextOf(const json::Value& value);

  // Appends the entry as one nested attribute; its last eight bytes are the line number's attribute.
  void Encode(Batch& batch);
  static SetEntry Decode(Bytes nest);

  std::string Text() const;
  void Write(json::Writer& to) const;

 private:
  template <class C>
  void Describe(C& c);
  void ReadText(std::string_view text, const SetShape& shape);
  void ReadPart(std::string_view text, EntryPart part, const SetShape& shape);
  void ReadPorts(std::string_view text);
  void ReadProtocol(std::string_view text, const SetShape& shape);
  void ReadExtras(const json::Value& object, const SetShape& shape);
};

}  // namespace trellis::netlink
