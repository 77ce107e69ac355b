// A tracked flow: both directions, what it is marked with, and how far it has come.
// Guarantees: what Encode sends, Decode reads back; Decode works on any bytes without a socket.
#pragma once
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>

#include "netlink/conntrack/tuple.h"

namespace trellis::netlink::conntrack {

// The type of a ctnetlink message.
constexpr uint16_t MessageType(uint8_t message) { return static_cast<uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | message); }

// Bits with words, as nft's `ct status` spells them; a list in JSON.
struct StatusBits {
  uint32_t value = 0;
};
void ReadJson(const json::Value& from, std::string_view name, StatusBits& to);
void WriteJson(json::Writer& to, const StatusBits& from);
void PutAttribute(Batch& to, uint16_t type, const StatusBits& from);
using netlink::GetAttribute;  // beside this one, not hidden by it
void GetAttribute(Bytes from, StatusBits& to);

// The words of /proc/net/nf_conntrack and of the conntrack tool.
inline constexpr Name kTcpStates[] = {{"NONE", 0},       {"SYN_SENT", 1}, {"SYN_RECV", 2},  {"ESTABLISHED", 3}, {"FIN_WAIT", 4},
                                      {"CLOSE_WAIT", 5}, {"LAST_ACK", 6}, {"TIME_WAIT", 7}, {"CLOSE", 8},       {"SYN_SENT2", 9}};
inline constexpr Name kSctpStates[] = {{"NONE", 0},          {"CLOSED", 1},        {"COOKIE_WAIT", 2},   {"COOKIE_ECHOED", 3},
                                       {"ESTABLISHED", 4},   {"SHUTDOWN_SENT", 5}, {"SHUTDOWN_RECD", 6}, {"SHUTDOWN_ACK_SENT", 7},
                                       {"HEARTBEAT_SENT", 8}};

struct Flow {
  Opt<uint8_t> family, protocol, tcpState, sctpState;
  Opt<Tuple> original, reply;
  Opt<Be16> zone;
  Opt<Be32> mark, timeout, id;
  Opt<StatusBits> status;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kFlowFamilies);
    c.PlainNamed("protocol", protocol, kFlowProtocols);
    c.PlainObject("original", original);
    c.PlainObject("reply", reply);
    c("zone", CTA_ZONE, zone);
    c("mark", CTA_MARK, mark);
    c("status", CTA_STATUS, status);
    c("timeout", CTA_TIMEOUT, timeout);
    c.PlainNamed("tcpState", tcpState, kTcpStates);
    c.PlainNamed("sctpState", sctpState, kSctpStates);
    c("id", CTA_ID, id);
  }

  // Checks a flow that is to be added, and fills in what follows from the rest (family, the reply).
  void Complete();
  // The message that adds it; EEXIST from the kernel if a flow with one of its tuples is there already.
  void EncodeAdd(Batch& batch, size_t owner);
  static Flow Decode(const MessageView& message);
};

// The message that deletes exactly the flow that `message` (of a dump) tells of, and no younger one with its tuple.
void EncodeDelete(Batch& batch, const MessageView& message, size_t owner);

}  // namespace trellis::netlink::conntrack
