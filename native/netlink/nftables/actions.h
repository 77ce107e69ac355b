// Expressions that act on the packet: nat, masq, redir, reject, counter, limit, log, notrack.
// Guarantees: what the kernel adds by itself (flags that follow from registers) is not told as if it had been asked for.
#pragma once
#include <linux/netfilter/nf_log.h>
#include <linux/netfilter/nf_nat.h>

#include "netlink/nftables/loads.h"

namespace trellis::netlink::nft {

inline constexpr Name kNatTypes[] = {{"snat", NFT_NAT_SNAT}, {"dnat", NFT_NAT_DNAT}};
inline constexpr Name kNatFlags[] = {{"random", NF_NAT_RANGE_PROTO_RANDOM},
                                     {"persistent", NF_NAT_RANGE_PERSISTENT},
                                     {"fully-random", NF_NAT_RANGE_PROTO_RANDOM_FULLY},
                                     {"netmap", NF_NAT_RANGE_NETMAP}};
// These follow from the registers given; the kernel sets them itself, or Encode does.
inline constexpr uint32_t kImpliedNatFlags = NF_NAT_RANGE_MAP_IPS | NF_NAT_RANGE_PROTO_SPECIFIED;

inline void TidyNat(Opt<WordFlags<kNatFlags>>& flags) {
  if (flags) flags->value &= ~kImpliedNatFlags;
  DropZero(flags);
}
// The kernel tells a range of one back with both ends.
inline void DropEqual(const Opt<Be32>& first, Opt<Be32>& last) {
  if (first && last && first->value == last->value) last.reset();
}

struct Nat {
  static constexpr std::string_view kName = "nat";
  Opt<Be32> type, family, sregAddrMin, sregAddrMax, sregProtoMin, sregProtoMax;
  Opt<WordFlags<kNatFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c.Named("type", NFTA_NAT_TYPE, type, kNatTypes);
    c.Named("family", NFTA_NAT_FAMILY, family, kNftFamilies);
    c("sregAddrMin", NFTA_NAT_REG_ADDR_MIN, sregAddrMin);
    c("sregAddrMax", NFTA_NAT_REG_ADDR_MAX, sregAddrMax);
    c("sregProtoMin", NFTA_NAT_REG_PROTO_MIN, sregProtoMin);
    c("sregProtoMax", NFTA_NAT_REG_PROTO_MAX, sregProtoMax);
    c("flags", NFTA_NAT_FLAGS, flags);
  }
  void Check() const { Need(type && family, "nat needs type and family"); }
  void Tidy() {
    TidyNat(flags);
    DropEqual(sregAddrMin, sregAddrMax);
    DropEqual(sregProtoMin, sregProtoMax);
  }
};

struct Masq {
  static constexpr std::string_view kName = "masq";
  Opt<Be32> sregProtoMin, sregProtoMax;
  Opt<WordFlags<kNatFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c("flags", NFTA_MASQ_FLAGS, flags);
    c("sregProtoMin", NFTA_MASQ_REG_PROTO_MIN, sregProtoMin);
    c("sregProtoMax", NFTA_MASQ_REG_PROTO_MAX, sregProtoMax);
  }
  void Check() const {}
  void Tidy() {
    TidyNat(flags);
    DropEqual(sregProtoMin, sregProtoMax);
  }
};

struct Redir {
  static constexpr std::string_view kName = "redir";
  Opt<Be32> sregProtoMin, sregProtoMax;
  Opt<WordFlags<kNatFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c("sregProtoMin", NFTA_REDIR_REG_PROTO_MIN, sregProtoMin);
    c("sregProtoMax", NFTA_REDIR_REG_PROTO_MAX, sregProtoMax);
    c("flags", NFTA_REDIR_FLAGS, flags);
  }
  void Check() const {}
  void Tidy() {
    TidyNat(flags);
    DropEqual(sregProtoMin, sregProtoMax);
  }
};

inline constexpr Name kRejectTypes[] = {
    {"icmp", NFT_REJECT_ICMP_UNREACH}, {"tcp-reset", NFT_REJECT_TCP_RST}, {"icmpx", NFT_REJECT_ICMPX_UNREACH}};

struct Reject {
  static constexpr std::string_view kName = "reject";
  Opt<Be32> type;
  Opt<uint8_t> code;

  template <class C>
  void Describe(C& c) {
    c.Named("type", NFTA_REJECT_TYPE, type, kRejectTypes);
    c("code", NFTA_REJECT_ICMP_CODE, code);
  }
  void Check() const {
    Need(type.has_value(), "reject needs its type");
    Need(type->value == NFT_REJECT_TCP_RST || code, "a reject by ICMP needs its code");
  }
  void Tidy() {
    if (type && type->value == NFT_REJECT_TCP_RST) code.reset();
  }
};

struct Counter {
  static constexpr std::string_view kName = "counter";
  Opt<Be64> packets, bytes;

  template <class C>
  void Describe(C& c) {
    c("packets", NFTA_COUNTER_PACKETS, packets);
    c("bytes", NFTA_COUNTER_BYTES, bytes);
  }
  void Check() const {}
  void Tidy() {}
};

inline constexpr Name kLimitTypes[] = {{"packets", NFT_LIMIT_PKTS}, {"bytes", NFT_LIMIT_PKT_BYTES}};
inline constexpr Name kLimitFlags[] = {{"invert", NFT_LIMIT_F_INV}};

struct Limit {
  static constexpr std::string_view kName = "limit";
  Opt<Be64> rate, perSeconds;
  Opt<Be32> burst, type;
  Opt<WordFlags<kLimitFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c("rate", NFTA_LIMIT_RATE, rate);
    c("perSeconds", NFTA_LIMIT_UNIT, perSeconds);
    c("burst", NFTA_LIMIT_BURST, burst);
    c.Named("type", NFTA_LIMIT_TYPE, type, kLimitTypes);
    c("flags", NFTA_LIMIT_FLAGS, flags);
  }
  void Check() const { Need(rate && perSeconds && type, "limit needs rate, perSeconds and type"); }
  void Tidy() {
    DropZero(flags);
    DropZero(burst);
  }
};

inline constexpr Name kLogLevels[] = {
    {"emerg", NFT_LOGLEVEL_EMERG}, {"alert", NFT_LOGLEVEL_ALERT},  {"crit", NFT_LOGLEVEL_CRIT},
    {"err", NFT_LOGLEVEL_ERR},     {"warn", NFT_LOGLEVEL_WARNING}, {"notice", NFT_LOGLEVEL_NOTICE},
    {"info", NFT_LOGLEVEL_INFO},   {"debug", NFT_LOGLEVEL_DEBUG},  {"audit", NFT_LOGLEVEL_AUDIT}};
inline constexpr Name kLogFlags[] = {{"tcp-sequence", NF_LOG_TCPSEQ},
                                     {"tcp-options", NF_LOG_TCPOPT},
                                     {"ip-options", NF_LOG_IPOPT},
                                     {"skuid", NF_LOG_UID},
                                     {"ether", NF_LOG_MACDECODE}};

// Without a group to the kernel's log; with one to that nfnetlink_log group.
struct Log {
  static constexpr std::string_view kName = "log";
  Opt<std::string> prefix;
  Opt<Be16> group, queueThreshold;
  Opt<Be32> snapLength, level;
  Opt<WordFlags<kLogFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c("prefix", NFTA_LOG_PREFIX, prefix);
    c("group", NFTA_LOG_GROUP, group);
    c("snapLength", NFTA_LOG_SNAPLEN, snapLength);
    c("queueThreshold", NFTA_LOG_QTHRESHOLD, queueThreshold);
    c.Named("level", NFTA_LOG_LEVEL, level, kLogLevels);
    c("flags", NFTA_LOG_FLAGS, flags);
  }
  void Check() const {
    Need(!prefix || (!prefix->empty() && prefix->size() < NF_LOG_PREFIXLEN), "a log's prefix must be 1 to 127 bytes long");
    Need(!group || (!level && !flags), "a log goes to a group or has a level and flags, not both");
    Need(group || (!snapLength && !queueThreshold), "snapLength and queueThreshold go with a group");
  }
  void Tidy() {
    DropZero(flags);
    DropZero(snapLength);
    if (level && level->value == NFT_LOGLEVEL_WARNING) level.reset();  // what the kernel takes when none is given
    if (queueThreshold && queueThreshold->value == 0) queueThreshold.reset();
  }
};

struct Notrack {
  static constexpr std::string_view kName = "notrack";
  template <class C>
  void Describe(C&) {}
  void Check() const {}
  void Tidy() {}
};

}  // namespace trellis::netlink::nft
