// Expressions that put something into a register, or write one out: payload, meta, ct, fib, numgen, hash, immediate.
// Guarantees: `dreg` is the register written, `sreg` the register read, as in the kernel.
//
// Registers: 1 to 4 are 16 bytes each; 8 to 23 are 4 bytes each and lie over the same memory (8 to 11 are register 1).
// The kernel tells 8, 12, 16 and 20 back as 1, 2, 3 and 4.
#pragma once
#include <linux/rtnetlink.h>

#include "netlink/nftables/values.h"

namespace trellis::netlink::nft {

inline void Need(bool there, const char* sentence) {
  if (!there) throw InputError(sentence);
}

inline constexpr Name kPayloadBases[] = {{"link", NFT_PAYLOAD_LL_HEADER},
                                         {"network", NFT_PAYLOAD_NETWORK_HEADER},
                                         {"transport", NFT_PAYLOAD_TRANSPORT_HEADER},
                                         {"inner", NFT_PAYLOAD_INNER_HEADER}};
inline constexpr Name kChecksums[] = {
    {"none", NFT_PAYLOAD_CSUM_NONE}, {"inet", NFT_PAYLOAD_CSUM_INET}, {"sctp", NFT_PAYLOAD_CSUM_SCTP}};
inline constexpr Name kChecksumFlags[] = {{"pseudoheader", NFT_PAYLOAD_L4CSUM_PSEUDOHDR}};

struct Payload {
  static constexpr std::string_view kName = "payload";
  Opt<Be32> base, offset, length, dreg, sreg, checksum, checksumOffset;
  Opt<WordFlags<kChecksumFlags>> checksumFlags;

  template <class C>
  void Describe(C& c) {
    c("dreg", NFTA_PAYLOAD_DREG, dreg);
    c("sreg", NFTA_PAYLOAD_SREG, sreg);
    c.Named("base", NFTA_PAYLOAD_BASE, base, kPayloadBases);
    c("offset", NFTA_PAYLOAD_OFFSET, offset);
    c("length", NFTA_PAYLOAD_LEN, length);
    c.Named("checksum", NFTA_PAYLOAD_CSUM_TYPE, checksum, kChecksums);
    c("checksumOffset", NFTA_PAYLOAD_CSUM_OFFSET, checksumOffset);
    c("checksumFlags", NFTA_PAYLOAD_CSUM_FLAGS, checksumFlags);
  }
  void Check() const {
    Need(base && offset && length, "payload needs base, offset and length");
    Need(dreg.has_value() != sreg.has_value(), "payload needs dreg to load into or sreg to write from");
    Need(!dreg || (!checksum && !checksumOffset && !checksumFlags), "payload has a checksum only when it writes");
  }
  void Tidy() {
    DropZero(checksumFlags);
    if (checksum && checksum->value == NFT_PAYLOAD_CSUM_NONE) checksum.reset();
    if (!checksum) DropZero(checksumOffset);
  }
};

inline constexpr Name kMetaKeys[] = {{"len", NFT_META_LEN},
                                     {"protocol", NFT_META_PROTOCOL},
                                     {"priority", NFT_META_PRIORITY},
                                     {"mark", NFT_META_MARK},
                                     {"iif", NFT_META_IIF},
                                     {"oif", NFT_META_OIF},
                                     {"iifname", NFT_META_IIFNAME},
                                     {"oifname", NFT_META_OIFNAME},
                                     {"iiftype", NFT_META_IIFTYPE},
                                     {"oiftype", NFT_META_OIFTYPE},
                                     {"skuid", NFT_META_SKUID},
                                     {"skgid", NFT_META_SKGID},
                                     {"nftrace", NFT_META_NFTRACE},
                                     {"rtclassid", NFT_META_RTCLASSID},
                                     {"secmark", NFT_META_SECMARK},
                                     {"nfproto", NFT_META_NFPROTO},
                                     {"l4proto", NFT_META_L4PROTO},
                                     {"ibrname", NFT_META_BRI_IIFNAME},
                                     {"obrname", NFT_META_BRI_OIFNAME},
                                     {"pkttype", NFT_META_PKTTYPE},
                                     {"cpu", NFT_META_CPU},
                                     {"iifgroup", NFT_META_IIFGROUP},
                                     {"oifgroup", NFT_META_OIFGROUP},
                                     {"cgroup", NFT_META_CGROUP},
                                     {"random", NFT_META_PRANDOM},
                                     {"ipsec", NFT_META_SECPATH},
                                     {"iifkind", NFT_META_IIFKIND},
                                     {"oifkind", NFT_META_OIFKIND},
                                     {"ibrpvid", NFT_META_BRI_IIFPVID},
                                     {"ibrvproto", NFT_META_BRI_IIFVPROTO},
                                     {"time", NFT_META_TIME_NS},
                                     {"day", NFT_META_TIME_DAY},
                                     {"hour", NFT_META_TIME_HOUR},
                                     {"sdif", NFT_META_SDIF},
                                     {"sdifname", NFT_META_SDIFNAME}};

struct Meta {
  static constexpr std::string_view kName = "meta";
  Opt<Be32> key, dreg, sreg;

  template <class C>
  void Describe(C& c) {
    c.Named("key", NFTA_META_KEY, key, kMetaKeys);
    c("dreg", NFTA_META_DREG, dreg);
    c("sreg", NFTA_META_SREG, sreg);
  }
  void Check() const {
    Need(key && dreg.has_value() != sreg.has_value(), "meta needs a key, and dreg to get it or sreg to set it");
  }
  void Tidy() {}
};

inline constexpr Name kCtKeys[] = {{"state", NFT_CT_STATE},
                                   {"direction", NFT_CT_DIRECTION},
                                   {"status", NFT_CT_STATUS},
                                   {"mark", NFT_CT_MARK},
                                   {"secmark", NFT_CT_SECMARK},
                                   {"expiration", NFT_CT_EXPIRATION},
                                   {"helper", NFT_CT_HELPER},
                                   {"l3proto", NFT_CT_L3PROTOCOL},
                                   {"src", NFT_CT_SRC},
                                   {"dst", NFT_CT_DST},
                                   {"protocol", NFT_CT_PROTOCOL},
                                   {"proto-src", NFT_CT_PROTO_SRC},
                                   {"proto-dst", NFT_CT_PROTO_DST},
                                   {"label", NFT_CT_LABELS},
                                   {"packets", NFT_CT_PKTS},
                                   {"bytes", NFT_CT_BYTES},
                                   {"avgpkt", NFT_CT_AVGPKT},
                                   {"zone", NFT_CT_ZONE},
                                   {"event", NFT_CT_EVENTMASK},
                                   {"ip saddr", NFT_CT_SRC_IP},
                                   {"ip daddr", NFT_CT_DST_IP},
                                   {"ip6 saddr", NFT_CT_SRC_IP6},
                                   {"ip6 daddr", NFT_CT_DST_IP6},
                                   {"id", NFT_CT_ID}};
inline constexpr Name kCtDirections[] = {{"original", 0}, {"reply", 1}};

struct Ct {
  static constexpr std::string_view kName = "ct";
  Opt<Be32> key, dreg, sreg;
  Opt<uint8_t> direction;

  template <class C>
  void Describe(C& c) {
    c.Named("key", NFTA_CT_KEY, key, kCtKeys);
    c.Named("direction", NFTA_CT_DIRECTION, direction, kCtDirections);
    c("dreg", NFTA_CT_DREG, dreg);
    c("sreg", NFTA_CT_SREG, sreg);
  }
  void Check() const {
    Need(key && dreg.has_value() != sreg.has_value(), "ct needs a key, and dreg to get it or sreg to set it");
  }
  void Tidy() {}
};

inline constexpr Name kFibResults[] = {
    {"oif", NFT_FIB_RESULT_OIF}, {"oifname", NFT_FIB_RESULT_OIFNAME}, {"type", NFT_FIB_RESULT_ADDRTYPE}};
inline constexpr Name kFibFlags[] = {{"saddr", NFTA_FIB_F_SADDR}, {"daddr", NFTA_FIB_F_DADDR}, {"mark", NFTA_FIB_F_MARK},
                                     {"iif", NFTA_FIB_F_IIF},     {"oif", NFTA_FIB_F_OIF},     {"present", NFTA_FIB_F_PRESENT}};

struct Fib {
  static constexpr std::string_view kName = "fib";
  Opt<Be32> dreg, result;
  Opt<WordFlags<kFibFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c("flags", NFTA_FIB_FLAGS, flags);
    c.Named("result", NFTA_FIB_RESULT, result, kFibResults);
    c("dreg", NFTA_FIB_DREG, dreg);
  }
  void Check() const { Need(dreg && result && flags, "fib needs flags, result and dreg"); }
  void Tidy() {}
};

inline constexpr Name kNumgenTypes[] = {{"inc", NFT_NG_INCREMENTAL}, {"random", NFT_NG_RANDOM}};

struct Numgen {
  static constexpr std::string_view kName = "numgen";
  Opt<Be32> dreg, modulus, type, offset;

  template <class C>
  void Describe(C& c) {
    c.Named("type", NFTA_NG_TYPE, type, kNumgenTypes);
    c("modulus", NFTA_NG_MODULUS, modulus);
    c("offset", NFTA_NG_OFFSET, offset);
    c("dreg", NFTA_NG_DREG, dreg);
  }
  void Check() const { Need(type && modulus && modulus->value > 0 && dreg, "numgen needs type, dreg and a modulus above zero"); }
  void Tidy() { DropZero(offset); }
};

inline constexpr Name kHashTypes[] = {{"jhash", NFT_HASH_JENKINS}, {"symhash", NFT_HASH_SYM}};

struct Hash {
  static constexpr std::string_view kName = "hash";
  Opt<Be32> type, sreg, dreg, length, modulus, seed, offset;

  template <class C>
  void Describe(C& c) {
    c.Named("type", NFTA_HASH_TYPE, type, kHashTypes);
    c("sreg", NFTA_HASH_SREG, sreg);
    c("dreg", NFTA_HASH_DREG, dreg);
    c("length", NFTA_HASH_LEN, length);
    c("modulus", NFTA_HASH_MODULUS, modulus);
    c("seed", NFTA_HASH_SEED, seed);
    c("offset", NFTA_HASH_OFFSET, offset);
  }
  void Check() const {
    Need(type && dreg && modulus && modulus->value > 0, "hash needs type, dreg and a modulus above zero");
    Need(type->value != NFT_HASH_JENKINS || (sreg && length), "a jhash needs sreg and length of what it hashes");
  }
  void Tidy() { DropZero(offset); }
};

// A constant into a register, or a verdict (which is what register 0 takes).
struct Immediate {
  static constexpr std::string_view kName = "immediate";
  Opt<Be32> dreg;
  Opt<RawValue> value;
  Opt<Verdict> verdict;

  template <class C>
  void Describe(C& c) {
    c("dreg", NFTA_IMMEDIATE_DREG, dreg);
    c("value", NFTA_IMMEDIATE_DATA, value);
    c("verdict", NFTA_IMMEDIATE_DATA, verdict);
  }
  void Check() const {
    Need(value.has_value() != verdict.has_value(), "immediate needs a value or a verdict");
    Need(!value || (dreg && dreg->value != NFT_REG_VERDICT), "an immediate value needs dreg");
    Need(!verdict || !dreg, "an immediate verdict takes no dreg");
  }
  void Tidy() {}
};

}  // namespace trellis::netlink::nft
