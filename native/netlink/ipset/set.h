// Sets themselves: what `ipset create` makes and `ipset list` shows above the members.
// Guarantees: options are checked against the set's type before anything is sent.
#pragma once
#include <string>

#include "netlink/ipset/entry.h"

namespace trellis::netlink {

inline constexpr Name kSetFamilies[] = {{"inet", 2}, {"inet6", 10}};

// "0-65535", the ports a bitmap:port can hold.
struct SetPortRange {
  uint16_t first = 0;
  uint16_t last = 0;
};
void ReadJson(const json::Value& from, std::string_view name, SetPortRange& to);
void WriteJson(json::Writer& to, const SetPortRange& from);

struct IpSet {
  Opt<std::string> name, type;
  Opt<uint8_t> family, revision, netmask;
  Opt<Net32> hashsize, maxelem, timeout, size;
  Opt<SetPortRange> range;
  Opt<bool> counters, comment, forceadd;
  // Told by the kernel only.
  Opt<uint8_t> bucketsize;
  Opt<Net32> references, memsize, numentries;

  template <class C>
  void Describe(C& c) {
    c.Plain("name", name);
    c.Plain("type", type);
    c.PlainNamed("family", family, kSetFamilies);
    c.Plain("revision", revision);
    DescribeOptions(c);
    c("references", IPSET_ATTR_REFERENCES, references);
    c("memsize", IPSET_ATTR_MEMSIZE, memsize);
    c("numentries", IPSET_ATTR_ELEMENTS, numentries);
  }

  // Throws InputError; leaves the family filled in.
  void CheckNew();
  SetShape Shape() const;
  void Encode(Batch& batch, uint8_t protocol, bool existsOk, size_t owner);
  // One message of a listing; false when it only continues the members of the set before.
  static bool Decode(const MessageView& message, IpSet& to);

 private:
  template <class C>
  void DescribeOptions(C& c) {
    c("hashsize", IPSET_ATTR_HASHSIZE, hashsize);
    c("maxelem", IPSET_ATTR_MAXELEM, maxelem);
    c("netmask", IPSET_ATTR_NETMASK, netmask);
    c("bucketsize", IPSET_ATTR_BUCKETSIZE, bucketsize);
    c("size", IPSET_ATTR_SIZE, size);
    c("timeout", IPSET_ATTR_TIMEOUT, timeout);
    c.Plain("range", range);
    c.Plain("counters", counters);
    c.Plain("comment", comment);
    c.Plain("forceadd", forceadd);
  }
};

// Throws InputError unless the name is one that the kernel can hold.
void CheckSetName(const Opt<std::string>& name, std::string_view field = "name");

// Starts an ipset message: the netfilter header and the protocol's version.
void BeginIpset(Batch& batch, uint8_t command, uint16_t flags, uint8_t protocol, size_t owner = 0);

}  // namespace trellis::netlink
