#include "netlink/route/rule.h"

#include <net/if.h>
#include <sys/socket.h>

#include <charconv>

namespace trellis::netlink {

void ReadJson(const json::Value& from, std::string_view name, PortRange& to) {
  constexpr const char* kExpected = "must be a port or a range, like 53 or \"8000-8080\"";
  if (from.IsInteger()) {
    ReadJson(from, name, to.first);
    to.last = to.first;
    return;
  }
  if (!from.IsString()) ThrowField(name, kExpected);
  const char* at = from.string().data();
  const char* end = at + from.string().size();
  auto first = std::from_chars(at, end, to.first);
  to.last = to.first;
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-') first = std::from_chars(first.ptr + 1, end, to.last);
  if (first.ec != std::errc() || first.ptr != end || to.last < to.first) ThrowField(name, kExpected);
}

void WriteJson(json::Writer& to, const PortRange& from) {
  if (from.first == from.last) to.Unsigned(from.first);
  else to.String(std::to_string(from.first) + "-" + std::to_string(from.last));
}

int Rule::Family() const {
  if (family) return *family;
  if (source) return source->address.family();
  if (destination) return destination->address.family();
  return AF_INET;
}

void Rule::Check(Verb verb) const {
  const int af = Family();
  if (af != AF_INET && af != AF_INET6) ThrowField("family", "must be inet or inet6");
  if (source && source->address.family() != af) ThrowField("source", "must be of the rule's family");
  if (destination && destination->address.family() != af) ThrowField("destination", "must be of the rule's family");
  for (const auto& [name, field] : {std::pair{&inputInterface, "inputInterface"}, {&outputInterface, "outputInterface"}})
    if (*name && ((*name)->empty() || (*name)->size() >= IFNAMSIZ)) ThrowField(field, "must be 1 to 15 bytes long");
  if (verb == Verb::Change) throw InputError("rules cannot be changed: delete the old one and add the new one");
  if (verb != Verb::Delete && !table && !action) throw InputError("a rule needs a table or an action");
}

void Rule::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Delete) batch.Begin(RTM_DELRULE, 0, owner);
  else batch.Begin(RTM_NEWRULE, NewFlags(verb), owner);
  fib_rule_hdr head{};
  head.family = static_cast<uint8_t>(Family());
  head.src_len = source ? source->length : 0;
  head.dst_len = destination ? destination->length : 0;
  head.tos = tos.value_or(0);
  head.table = table && *table < 256 ? static_cast<uint8_t>(*table) : static_cast<uint8_t>(RT_TABLE_UNSPEC);
  head.action = action.value_or(gotoPriority ? FR_ACT_GOTO : verb == Verb::Delete && !table ? FR_ACT_UNSPEC : FR_ACT_TO_TBL);
  if (invert.value_or(false)) head.flags |= FIB_RULE_INVERT;
  batch.Header(head);
  if (source && source->length > 0) batch.Put(FRA_SRC, source->address.bytes());
  if (destination && destination->length > 0) batch.Put(FRA_DST, destination->address.bytes());
  ToAttributes to(batch);
  Describe(to);
  batch.End();
}

Rule Rule::Decode(const MessageView& message) {
  const auto head = message.Head<fib_rule_hdr>();
  FromAttributes from(message.Attributes<fib_rule_hdr>());
  Rule out;
  out.Describe(from);
  out.family = head.family;
  out.action = head.action;
  if (!out.table && head.table != RT_TABLE_UNSPEC) out.table = head.table;
  if (out.action != FR_ACT_TO_TBL) out.table.reset();
  if (out.suppressPrefixLength == UINT32_MAX) out.suppressPrefixLength.reset();  // the kernel's "not set"
  if (!out.priority) out.priority = 0;
  if (head.tos != 0) out.tos = head.tos;
  if (head.flags & FIB_RULE_INVERT) out.invert = true;
  Opt<IpAddress> source, destination;
  from("source", FRA_SRC, source);
  from("destination", FRA_DST, destination);
  if (source) out.source = IpPrefix{*source, head.src_len};
  if (destination) out.destination = IpPrefix{*destination, head.dst_len};
  return out;
}

}  // namespace trellis::netlink
