#include "netlink/ipset/set.h"

#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>

#include <charconv>

namespace trellis::netlink {

void ReadJson(const json::Value& from, std::string_view name, SetPortRange& to) {
  const std::string_view text = from.IsString() ? from.string() : std::string_view{};
  const char* end = text.data() + text.size();
  auto at = std::from_chars(text.data(), end, to.first);
  bool good = at.ec == std::errc() && at.ptr != end && *at.ptr == '-';
  if (good) at = std::from_chars(at.ptr + 1, end, to.last);
  good = good && at.ec == std::errc() && at.ptr == end && to.first <= to.last;
  if (!good) ThrowField(name, "must be a range of ports, like \"0-65535\"");
}

void WriteJson(json::Writer& to, const SetPortRange& from) {
  to.String(std::to_string(from.first) + "-" + std::to_string(from.last));
}

void CheckSetName(const Opt<std::string>& name, std::string_view field) {
  if (!name || name->empty() || name->size() >= IPSET_MAXNAMELEN)
    ThrowField(field, "must be the name of a set, 1 to 31 bytes long");
}

void BeginIpset(Batch& batch, uint8_t command, uint16_t flags, uint8_t protocol, size_t owner) {
  batch.Begin(static_cast<uint16_t>(NFNL_SUBSYS_IPSET << 8 | command), flags, owner);
  batch.Header(nfgenmsg{AF_INET, NFNETLINK_V0, 0});
  batch.PutValue(IPSET_ATTR_PROTOCOL, protocol);
}

void IpSet::CheckNew() {
  CheckSetName(name);
  if (!type) throw InputError("a set needs its type");
  const SetType* known = FindSetType(*type);
  if (known == nullptr) ThrowField("type", "must be one of " + std::string(KnownSetTypes()));
  const bool hash = known->method == SetMethod::Hash;
  auto only = [&](bool given, const char* field, bool allowed) {
    if (given && !allowed) ThrowField(field, "is not for sets of type " + *type);
  };
  only(family.has_value(), "family", hash);
  only(hashsize.has_value(), "hashsize", hash);
  only(maxelem.has_value(), "maxelem", hash);
  only(forceadd.has_value(), "forceadd", hash);
  only(netmask.has_value(), "netmask", known->name == "hash:ip");
  only(range.has_value(), "range", known->method == SetMethod::Bitmap);
  only(size.has_value(), "size", known->method == SetMethod::List);
  if (revision || bucketsize || references || memsize || numentries)
    throw InputError("revision, bucketsize, references, memsize and numentries are told by the kernel, not to it");
  if (known->method == SetMethod::Bitmap && !range) throw InputError("a set of type " + *type + " needs its range");
  family = hash ? family.value_or(AF_INET) : static_cast<uint8_t>(AF_UNSPEC);
  if (hash && *family != AF_INET && *family != AF_INET6) ThrowField("family", "must be inet or inet6");
  if (netmask && (*netmask == 0 || *netmask > (*family == AF_INET6 ? 128 : 32)))
    ThrowField("netmask", "must be a prefix length of the set's family");
}

SetShape IpSet::Shape() const {
  const std::string known = type.value_or("");
  return {FindSetType(known), known, family.value_or(0)};
}

void IpSet::Encode(Batch& batch, uint8_t protocol, bool existsOk, size_t owner) {
  BeginIpset(batch, IPSET_CMD_CREATE, existsOk ? NLM_F_CREATE : NLM_F_CREATE | NLM_F_EXCL, protocol, owner);
  batch.PutString(IPSET_ATTR_SETNAME, *name);
  batch.PutString(IPSET_ATTR_TYPENAME, *type);
  batch.PutValue<uint8_t>(IPSET_ATTR_REVISION, revision.value_or(0));
  batch.PutValue<uint8_t>(IPSET_ATTR_FAMILY, family.value_or(0));
  const size_t data = batch.BeginNest(IPSET_ATTR_DATA);
  ToAttributes to(batch);
  DescribeOptions(to);
  if (range) {
    PutAttribute(batch, IPSET_ATTR_PORT, Net16{range->first});
    PutAttribute(batch, IPSET_ATTR_PORT_TO, Net16{range->last});
  }
  uint32_t flags = 0;
  if (counters.value_or(false)) flags |= IPSET_FLAG_WITH_COUNTERS;
  if (comment.value_or(false)) flags |= IPSET_FLAG_WITH_COMMENT;
  if (forceadd.value_or(false)) flags |= IPSET_FLAG_WITH_FORCEADD;
  if (flags != 0) PutAttribute(batch, IPSET_ATTR_CADT_FLAGS, Net32{flags});
  batch.EndNest(data);
  batch.End();
}

bool IpSet::Decode(const MessageView& message, IpSet& to) {
  FromAttributes top(message.Attributes<nfgenmsg>());
  top("name", IPSET_ATTR_SETNAME, to.name);
  top("type", IPSET_ATTR_TYPENAME, to.type);
  top("revision", IPSET_ATTR_REVISION, to.revision);
  top("family", IPSET_ATTR_FAMILY, to.family);
  if (!to.type) return false;
  if (to.family == AF_UNSPEC) to.family.reset();
  if (!top.table().Has(IPSET_ATTR_DATA)) return true;  // the answer to a header query has no options
  FromAttributes data(top.table().Get(IPSET_ATTR_DATA));
  to.DescribeOptions(data);
  data("references", IPSET_ATTR_REFERENCES, to.references);
  data("memsize", IPSET_ATTR_MEMSIZE, to.memsize);
  data("numentries", IPSET_ATTR_ELEMENTS, to.numentries);
  Opt<Net16> first, last;
  Opt<Net32> flags;
  data("range", IPSET_ATTR_PORT, first);
  data("range", IPSET_ATTR_PORT_TO, last);
  data("flags", IPSET_ATTR_CADT_FLAGS, flags);
  if (first && last) to.range = SetPortRange{first->value, last->value};
  const uint32_t bits = flags.value_or(Net32{}).value;
  if (bits & IPSET_FLAG_WITH_COUNTERS) to.counters = true;
  if (bits & IPSET_FLAG_WITH_COMMENT) to.comment = true;
  if (bits & IPSET_FLAG_WITH_FORCEADD) to.forceadd = true;
  return true;
}

}  // namespace trellis::netlink
