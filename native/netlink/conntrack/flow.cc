#include "netlink/conntrack/flow.h"

#include <sys/socket.h>

namespace trellis::netlink::conntrack {

namespace {

constexpr Name kStatus[] = {{"expected", IPS_EXPECTED},
                            {"seen-reply", IPS_SEEN_REPLY},
                            {"assured", IPS_ASSURED},
                            {"confirmed", IPS_CONFIRMED},
                            {"snat", IPS_SRC_NAT},
                            {"dnat", IPS_DST_NAT},
                            {"seq-adjust", IPS_SEQ_ADJUST},
                            {"snat-done", IPS_SRC_NAT_DONE},
                            {"dnat-done", IPS_DST_NAT_DONE},
                            {"dying", IPS_DYING},
                            {"fixed-timeout", IPS_FIXED_TIMEOUT},
                            {"template", IPS_TEMPLATE},
                            {"untracked", IPS_UNTRACKED},
                            {"helper", IPS_HELPER},
                            {"offload", IPS_OFFLOAD},
                            {"hw-offload", IPS_HW_OFFLOAD}};

void PutState(Batch& batch, uint16_t protocol, uint16_t attribute, const Opt<uint8_t>& state) {
  if (!state) return;
  const size_t info = batch.BeginNest(CTA_PROTOINFO);
  const size_t inner = batch.BeginNest(protocol);
  batch.PutValue(attribute, *state);
  if (protocol == CTA_PROTOINFO_SCTP) {
    // The kernel takes an SCTP state only together with both verification tags.
    batch.PutValue<uint32_t>(CTA_PROTOINFO_SCTP_VTAG_ORIGINAL, 0);
    batch.PutValue<uint32_t>(CTA_PROTOINFO_SCTP_VTAG_REPLY, 0);
  }
  batch.EndNest(inner);
  batch.EndNest(info);
}

// CTA_PROTOINFO_TCP_STATE and CTA_PROTOINFO_SCTP_STATE are both the first attribute of their nest.
static_assert(CTA_PROTOINFO_TCP_STATE == 1 && CTA_PROTOINFO_SCTP_STATE == 1);

void DecodeStates(Bytes bytes, Flow& to) {
  ForEachAttribute(bytes, [&](const Attribute& protocol) {
    if (protocol.type != CTA_PROTOINFO_TCP && protocol.type != CTA_PROTOINFO_SCTP) return;
    ForEachAttribute(protocol.data, [&](const Attribute& attribute) {
      if (attribute.type != CTA_PROTOINFO_TCP_STATE) return;
      (protocol.type == CTA_PROTOINFO_TCP ? to.tcpState : to.sctpState) = ReadValue<uint8_t>(attribute.data);
    });
  });
}

nfgenmsg Head(uint8_t family) { return {family, NFNETLINK_V0, 0}; }

}  // namespace

void ReadJson(const json::Value& from, std::string_view name, StatusBits& to) {
  if (!from.IsArray()) ThrowField(name, "must be a list");
  for (const auto& word : from.items()) {
    const auto bit = word.IsString() ? ValueOf(kStatus, word.string()) : std::nullopt;
    if (!bit) ThrowField(name, "must hold only words of " + ListWords(kStatus));
    to.value |= *bit;
  }
}

void WriteJson(json::Writer& to, const StatusBits& from) {
  to.BeginArray();
  for (const Name& name : kStatus)
    if (from.value & name.value) to.String(name.word);
  to.EndArray();
}

void PutAttribute(Batch& to, uint16_t type, const StatusBits& from) { to.PutValue(type, htobe32(from.value)); }

void GetAttribute(Bytes from, StatusBits& to) { to.value = be32toh(ReadValue<uint32_t>(from)); }

void Flow::Complete() {
  if (!protocol) ThrowField("protocol", "is missing");
  if (!original) ThrowField("original", "is missing");
  if (!timeout) ThrowField("timeout", "is missing: say for how many seconds the flow may stay idle");
  if (id) ThrowField("id", "is the kernel's to give");
  if (!family && original->source) family = static_cast<uint8_t>(original->source->family());
  if (!family || (*family != AF_INET && *family != AF_INET6)) ThrowField("family", "must be inet or inet6");
  if (*protocol == IPPROTO_ICMP && *family != AF_INET) ThrowField("protocol", "icmp is IPv4's; IPv6 has icmpv6");
  if (*protocol == IPPROTO_ICMPV6 && *family != AF_INET6) ThrowField("protocol", "icmpv6 is IPv6's; IPv4 has icmp");
  if (tcpState && *protocol != IPPROTO_TCP) ThrowField("tcpState", "makes no sense for this protocol");
  if (sctpState && *protocol != IPPROTO_SCTP) ThrowField("sctpState", "makes no sense for this protocol");
  original->Check("original", *family, *protocol);
  if (!reply) reply = original->Inverse(*protocol);
  reply->Check("reply", *family, *protocol);
  // Whatever ctnetlink makes is confirmed; a status without that bit would be refused as an attempt to clear it.
  if (status) status->value |= IPS_CONFIRMED;
}

void Flow::EncodeAdd(Batch& batch, size_t owner) {
  batch.Begin(MessageType(IPCTNL_MSG_CT_NEW), NLM_F_CREATE | NLM_F_EXCL, owner);
  batch.Header(Head(*family));
  original->Encode(batch, CTA_TUPLE_ORIG, *protocol);
  reply->Encode(batch, CTA_TUPLE_REPLY, *protocol);
  ToAttributes to(batch);
  Describe(to);
  PutState(batch, CTA_PROTOINFO_TCP, CTA_PROTOINFO_TCP_STATE, tcpState);
  PutState(batch, CTA_PROTOINFO_SCTP, CTA_PROTOINFO_SCTP_STATE, sctpState);
  batch.End();
}

Flow Flow::Decode(const MessageView& message) {
  FromAttributes from(message.Attributes<nfgenmsg>());
  Flow out;
  out.Describe(from);
  out.family = message.Head<nfgenmsg>().nfgen_family;
  const AttributeTable& table = from.table();
  if (table.Has(CTA_TUPLE_ORIG)) out.original = Tuple::Decode(table.Get(CTA_TUPLE_ORIG), out.protocol);
  if (table.Has(CTA_TUPLE_REPLY)) out.reply = Tuple::Decode(table.Get(CTA_TUPLE_REPLY), out.protocol);
  if (table.Has(CTA_PROTOINFO)) DecodeStates(table.Get(CTA_PROTOINFO), out);
  if (!out.mark) out.mark.emplace();  // some kernels leave out a mark of 0
  return out;
}

void EncodeDelete(Batch& batch, const MessageView& message, size_t owner) {
  const AttributeTable table(message.Attributes<nfgenmsg>());
  // Without a tuple the kernel would take the message for "delete everything"; without an id, for whichever flow has
  // the tuple by then.
  if (!table.Has(CTA_TUPLE_ORIG) || !table.Has(CTA_ID)) ThrowMalformed("a flow without tuple or id");
  batch.Begin(MessageType(IPCTNL_MSG_CT_DELETE), 0, owner);
  batch.Header(Head(message.Head<nfgenmsg>().nfgen_family));
  batch.Put(CTA_TUPLE_ORIG | NLA_F_NESTED, table.Get(CTA_TUPLE_ORIG));
  batch.Put(CTA_ID, table.Get(CTA_ID));
  if (table.Has(CTA_ZONE)) batch.Put(CTA_ZONE, table.Get(CTA_ZONE));
  batch.End();
}

}  // namespace trellis::netlink::conntrack
