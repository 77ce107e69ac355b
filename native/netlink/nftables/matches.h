// Expressions that compare, change or look up registers: cmp, range, bitwise, byteorder, lookup, dynset.
// Guarantees: `dreg` is the register written, `sreg` the register read, as in the kernel.
#pragma once
#include "netlink/nftables/loads.h"

namespace trellis::netlink::nft {

inline constexpr Name kCmpOps[] = {{"eq", NFT_CMP_EQ},   {"neq", NFT_CMP_NEQ}, {"lt", NFT_CMP_LT},
                                   {"lte", NFT_CMP_LTE}, {"gt", NFT_CMP_GT},   {"gte", NFT_CMP_GTE}};

struct Cmp {
  static constexpr std::string_view kName = "cmp";
  Opt<Be32> sreg, op;
  Opt<RawValue> value;

  template <class C>
  void Describe(C& c) {
    c("sreg", NFTA_CMP_SREG, sreg);
    c.Named("op", NFTA_CMP_OP, op, kCmpOps);
    c("value", NFTA_CMP_DATA, value);
  }
  void Check() const { Need(sreg && op && value, "cmp needs sreg, op and value"); }
  void Tidy() {}
};

inline constexpr Name kRangeOps[] = {{"eq", NFT_RANGE_EQ}, {"neq", NFT_RANGE_NEQ}};

struct Range {
  static constexpr std::string_view kName = "range";
  Opt<Be32> sreg, op;
  Opt<RawValue> from, to;

  template <class C>
  void Describe(C& c) {
    c("sreg", NFTA_RANGE_SREG, sreg);
    c.Named("op", NFTA_RANGE_OP, op, kRangeOps);
    c("from", NFTA_RANGE_FROM_DATA, from);
    c("to", NFTA_RANGE_TO_DATA, to);
  }
  void Check() const {
    Need(sreg && op && from && to, "range needs sreg, op, from and to");
    Need(from->bytes.size() == to->bytes.size(), "a range's from and to must be equally long");
  }
  void Tidy() {}
};

inline constexpr Name kBitwiseOps[] = {
    {"mask-xor", NFT_BITWISE_BOOL}, {"lshift", NFT_BITWISE_LSHIFT}, {"rshift", NFT_BITWISE_RSHIFT}};

// dreg = (sreg & mask) ^ xor, or a shift by `shift` (four bytes, the host's order).
struct Bitwise {
  static constexpr std::string_view kName = "bitwise";
  Opt<Be32> sreg, dreg, length, op;
  Opt<RawValue> mask, exclusiveOr, shift;

  template <class C>
  void Describe(C& c) {
    c("sreg", NFTA_BITWISE_SREG, sreg);
    c("dreg", NFTA_BITWISE_DREG, dreg);
    c("length", NFTA_BITWISE_LEN, length);
    c.Named("op", NFTA_BITWISE_OP, op, kBitwiseOps);
    c("mask", NFTA_BITWISE_MASK, mask);
    c("xor", NFTA_BITWISE_XOR, exclusiveOr);
    c("shift", NFTA_BITWISE_DATA, shift);
  }
  void Check() const {
    Need(sreg && dreg && length, "bitwise needs sreg, dreg and length");
    if (!op || op->value == NFT_BITWISE_BOOL) {
      Need(mask && exclusiveOr && !shift, "bitwise needs mask and xor, or an op and a shift");
      Need(mask->bytes.size() == length->value && exclusiveOr->bytes.size() == length->value,
           "bitwise: mask and xor must be as long as length says");
    } else {
      Need(shift && !mask && !exclusiveOr, "a bitwise shift needs shift, and neither mask nor xor");
    }
  }
  void Tidy() { DropZero(op); }
};

inline constexpr Name kByteorderOps[] = {{"ntoh", NFT_BYTEORDER_NTOH}, {"hton", NFT_BYTEORDER_HTON}};

struct Byteorder {
  static constexpr std::string_view kName = "byteorder";
  Opt<Be32> sreg, dreg, op, length, size;

  template <class C>
  void Describe(C& c) {
    c("sreg", NFTA_BYTEORDER_SREG, sreg);
    c("dreg", NFTA_BYTEORDER_DREG, dreg);
    c.Named("op", NFTA_BYTEORDER_OP, op, kByteorderOps);
    c("length", NFTA_BYTEORDER_LEN, length);
    c("size", NFTA_BYTEORDER_SIZE, size);
  }
  void Check() const { Need(sreg && dreg && op && length && size, "byteorder needs sreg, dreg, op, length and size"); }
  void Tidy() {}
};

inline constexpr Name kLookupFlags[] = {{"invert", NFT_LOOKUP_F_INV}};

// In a set: goes on if the key is there. With dreg in a map: loads its data; dreg 0 takes a verdict map's verdict.
// `setId` finds an anonymous set made in the same batch.
struct Lookup {
  static constexpr std::string_view kName = "lookup";
  Opt<std::string> set;
  Opt<Be32> setId, sreg, dreg;
  Opt<WordFlags<kLookupFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c("set", NFTA_LOOKUP_SET, set);
    c("setId", NFTA_LOOKUP_SET_ID, setId);
    c("sreg", NFTA_LOOKUP_SREG, sreg);
    c("dreg", NFTA_LOOKUP_DREG, dreg);
    c("flags", NFTA_LOOKUP_FLAGS, flags);
  }
  void Check() const {
    CheckName(set, "set");
    Need(sreg.has_value(), "lookup needs sreg");
  }
  void Tidy() { DropZero(flags); }
};

inline constexpr Name kDynsetOps[] = {
    {"add", NFT_DYNSET_OP_ADD}, {"update", NFT_DYNSET_OP_UPDATE}, {"delete", NFT_DYNSET_OP_DELETE}};
inline constexpr Name kDynsetFlags[] = {{"invert", NFT_DYNSET_F_INV}};

// Adds, refreshes or deletes an element of a set from the packet path.
struct Dynset {
  static constexpr std::string_view kName = "dynset";
  Opt<std::string> set;
  Opt<Be32> setId, op, sregKey, sregData;
  Opt<Be64> timeoutMs;
  Opt<WordFlags<kDynsetFlags>> flags;

  template <class C>
  void Describe(C& c) {
    c("set", NFTA_DYNSET_SET_NAME, set);
    c("setId", NFTA_DYNSET_SET_ID, setId);
    c.Named("op", NFTA_DYNSET_OP, op, kDynsetOps);
    c("sregKey", NFTA_DYNSET_SREG_KEY, sregKey);
    c("sregData", NFTA_DYNSET_SREG_DATA, sregData);
    c("timeoutMs", NFTA_DYNSET_TIMEOUT, timeoutMs);
    c("flags", NFTA_DYNSET_FLAGS, flags);
  }
  void Check() const {
    CheckName(set, "set");
    Need(op && sregKey, "dynset needs op and sregKey");
  }
  void Tidy() {
    DropZero(flags);
    if (timeoutMs && timeoutMs->value == 0) timeoutMs.reset();
  }
};

}  // namespace trellis::netlink::nft
