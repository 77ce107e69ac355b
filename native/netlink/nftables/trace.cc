#include "netlink/nftables/trace.h"

#include <linux/netfilter/nfnetlink.h>

#include "netlink/nftables/objects.h"

namespace trellis::netlink {

namespace {

using namespace nft;

constexpr Name kTraceTypes[] = {{"policy", NFT_TRACETYPE_POLICY}, {"return", NFT_TRACETYPE_RETURN}, {"rule", NFT_TRACETYPE_RULE}};

struct Trace {
  Opt<uint8_t> family;
  Opt<Be32> id, type, policy, iif, oif;
  Opt<std::string> table, chain;
  Opt<Be64> handle;
  Opt<nft::Verdict> verdict;
  Opt<Blob> network, transport;

  template <class C>
  void Describe(C& c) {
    c("id", NFTA_TRACE_ID, id);
    c.PlainNamed("family", family, kNftFamilies);
    c("table", NFTA_TRACE_TABLE, table);
    c("chain", NFTA_TRACE_CHAIN, chain);
    c("handle", NFTA_TRACE_RULE_HANDLE, handle);
    c.Named("type", NFTA_TRACE_TYPE, type, kTraceTypes);
    c.Plain("verdict", verdict);
    c.Named("policy", NFTA_TRACE_POLICY, policy, kPolicies);
    c("network", NFTA_TRACE_NETWORK_HEADER, network);
    c("transport", NFTA_TRACE_TRANSPORT_HEADER, transport);
    c("iif", NFTA_TRACE_IIF, iif);
    c("oif", NFTA_TRACE_OIF, oif);
  }
};

}  // namespace

void WriteNftTrace(const MessageView& message, const std::string& table, json::Writer& to) {
  if (message.header.nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_TRACE)) return;
  const AttributeTable attributes(message.Attributes<nfgenmsg>());
  FromAttributes from(attributes);
  Trace trace;
  trace.Describe(from);
  if (!table.empty() && trace.table != table) return;
  trace.family = message.Head<nfgenmsg>().nfgen_family;
  if (attributes.Has(NFTA_TRACE_VERDICT)) trace.verdict = ReadVerdict(attributes.Get(NFTA_TRACE_VERDICT));
  ToJson(to).Object(trace);
}

EventSource NftTraces(const std::string& table) {
  const auto write = [table](const MessageView& message, json::Writer& to) { WriteNftTrace(message, table, to); };
  return {NETLINK_NETFILTER, {NFNLGRP_NFTRACE}, [write](Bytes datagram) { return WriteEvents(datagram, write); }};
}

}  // namespace trellis::netlink
