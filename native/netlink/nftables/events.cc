#include "netlink/nftables/events.h"

#include <linux/netfilter/nfnetlink.h>

#include "netlink/nftables/family.h"

namespace trellis::netlink {

namespace {

bool IsDeletion(uint16_t type) {
  return type == NFT_MSG_DELTABLE || type == NFT_MSG_DELCHAIN || type == NFT_MSG_DELRULE || type == NFT_MSG_DELSET;
}

struct Committed {
  Opt<Be32> generation, pid;
  Opt<std::string> processName;

  template <class C>
  void Describe(C& c) {
    c("generation", NFTA_GEN_ID, generation);
    c("pid", NFTA_GEN_PROC_PID, pid);
    c("processName", NFTA_GEN_PROC_NAME, processName);
  }
};

void WriteEvent(const MessageView& message, json::Writer& to) {
  const uint16_t type = message.header.nlmsg_type & 0xFF;
  if (message.header.nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWGEN)) {
    FromAttributes from(message.Attributes<nfgenmsg>());
    Committed committed;
    committed.Describe(from);
    to.BeginObject();
    to.Key("event");
    to.String("generation");
    ToJson visitor(to);
    committed.Describe(visitor);
    to.EndObject();
    return;
  }
  json::Writer object;
  if (!WriteNftObject(message, object)) return;
  to.BeginObject();
  to.Key("event");
  to.String(IsDeletion(type) ? "delete" : "new");
  to.Key("object");
  to.Raw(object.Take());
  to.EndObject();
}

}  // namespace

EventSource NftEvents() { return {NETLINK_NETFILTER, {NFNLGRP_NFTABLES}, ReadNftEvents}; }

std::string ReadNftEvents(Bytes datagram) { return WriteEvents(datagram, WriteEvent); }

}  // namespace trellis::netlink
