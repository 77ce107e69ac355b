// The set types: of which parts their entries are made, and which revision of them is asked for.
// Guarantees: a type that is not here can still be listed; only making it and its entries needs this table.
#pragma once
#include <linux/netfilter/ipset/ip_set.h>

#include <cstdint>
#include <string_view>

namespace trellis::netlink {

// One part of an entry, in the order of the text "10.0.0.1,tcp:80,10.1.0.0/16".
enum class EntryPart : uint8_t { None, Address, Protocol, SecondAddress, SecondNet, Interface, Mark, Port, SetName };

// The method of a type decides which of its error numbers mean what.
enum class SetMethod : uint8_t { Hash, Bitmap, List };

struct SetType {
  std::string_view name;
  SetMethod method;
  // The revision that brought the newest thing used here (forceadd, comments, nomatch); a newer one would only keep
  // older ipset tools from reading the set. It is moved into the range the kernel has.
  uint8_t revision;
  bool hasNomatch;
  EntryPart parts[3];
};

// Null for an unknown type.
const SetType* FindSetType(std::string_view name);
// "hash:ip, hash:ip,port, ...": for error messages.
std::string_view KnownSetTypes();

// Makes numbers that count anew for each method one of a kind; see error.h.
int UniqueSetError(int error, SetMethod method);

}  // namespace trellis::netlink
