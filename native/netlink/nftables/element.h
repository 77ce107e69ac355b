// Elements of sets and maps, many in one request.
// Guarantees: a list of any length is split into messages below netlink's 64 KiB; interval ends are made and joined here.
#pragma once
#include <functional>

#include "netlink/nftables/set.h"

namespace trellis::netlink::nft {

struct Element {
  Opt<std::string> key, data, comment;  // key "*" is the catch-all
  Opt<Verdict> verdict;
  Opt<uint64_t> timeoutMs, expiresMs;

  template <class C>
  void Describe(C& c) {
    c.Plain("key", key);
    c.Plain("verdict", verdict);
    c.Plain("data", data);
    c.Plain("timeoutMs", timeoutMs);
    c.Plain("expiresMs", expiresMs);
    c.Plain("comment", comment);
  }
};

// A request for elements carries the set's type, mapType and flags, so that it needs no look at the kernel.
struct Elements {
  static constexpr std::string_view kKind = "element";
  static constexpr uint16_t kGet = NFT_MSG_GETSETELEM;
  Opt<uint8_t> family;
  Opt<std::string> table, set;
  Opt<Be32> setId;
  Opt<std::vector<std::string>> type, mapType;
  Opt<WordFlags<kSetFlags>> flags;
  std::vector<Element> elements;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kNftFamilies);
    c("table", NFTA_SET_ELEM_LIST_TABLE, table);
    c("set", NFTA_SET_ELEM_LIST_SET, set);
    c("setId", NFTA_SET_ELEM_LIST_SET_ID, setId);
    c.Plain("type", type);
    c.Plain("mapType", mapType);
    c.Plain("flags", flags);
    c.PlainList("elements", elements);
  }
  void Check(Verb verb);
  void Encode(Batch& batch, Verb verb, size_t owner);
  // Drops the elements whose key, in the form it is listed in, `keep` does not want.
  void Keep(const std::function<bool(const std::string&)>& keep);

 private:
  // Made by Check, so that Encode meets no surprises.
  struct Ready {
    KeyRange key;
    Opt<KeyBytes> data;
    bool isCatchAll = false;
  };
  void PutElement(Batch& batch, const Element& element, const Ready& ready, bool values) const;
  void BeginList(Batch& batch, uint16_t type, uint16_t flags, size_t owner, size_t& list);
  std::vector<Ready> ready_;
  bool ranges_ = false, pairs_ = false;
};

// One element as the kernel tells it.
struct RawElement {
  KeyBytes key;
  Opt<KeyBytes> keyEnd, data;
  uint32_t flags = 0;
  Opt<Verdict> verdict;
  Opt<uint64_t> timeoutMs, expiresMs;
  Opt<std::string> comment;
};
std::vector<RawElement> DecodeElements(const MessageView& message);

// Joins the starts and ends of intervals and gives keys their text; `of` tells the types.
std::vector<Element> Assemble(std::vector<RawElement> raw, const Set& of);

}  // namespace trellis::netlink::nft
