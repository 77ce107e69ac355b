#include "netlink/nftables/element.h"

#include <linux/netfilter/nfnetlink.h>

#include <algorithm>

namespace trellis::netlink::nft {

namespace {

// nft's notes about an element (libnftnl's enum nftnl_udata_set_elem_types) and the flag for "up to the last value".
constexpr uint8_t kComment = 0, kFlags = 1;
constexpr uint32_t kIntervalOpen = 1;
// An element takes well under 1 KiB; a list this long has room for one more pair.
constexpr size_t kListSize = 62 * 1024;
constexpr std::string_view kCatchAll = "*";

void PutKey(Batch& batch, uint16_t type, const KeyBytes& key) {
  const size_t nest = batch.BeginNest(type);
  batch.Put(NFTA_DATA_VALUE, key.bytes());
  batch.EndNest(nest);
}

void PutNotes(Batch& batch, const Element& element, bool open) {
  if (!element.comment && !open) return;
  UserData notes;
  if (element.comment) notes.PutText(kComment, *element.comment);
  if (open) notes.PutNumber(kFlags, kIntervalOpen);
  batch.Put(NFTA_SET_ELEM_USERDATA, notes.bytes());
}

KeyBytes GetKey(Bytes attribute) {
  const Bytes value = AttributeTable(attribute).Get(NFTA_DATA_VALUE);
  KeyBytes key;
  if (value.size() > key.data.size()) ThrowMalformed("a key of more than 64 bytes");
  key.size = static_cast<uint8_t>(value.size());
  std::copy(value.begin(), value.end(), key.data.begin());
  return key;
}

RawElement DecodeElement(Bytes bytes) {
  const AttributeTable table(bytes);
  RawElement out;
  if (table.Has(NFTA_SET_ELEM_KEY)) out.key = GetKey(table.Get(NFTA_SET_ELEM_KEY));
  if (table.Has(NFTA_SET_ELEM_KEY_END)) out.keyEnd = GetKey(table.Get(NFTA_SET_ELEM_KEY_END));
  if (table.Has(NFTA_SET_ELEM_FLAGS)) out.flags = be32toh(ReadValue<uint32_t>(table.Get(NFTA_SET_ELEM_FLAGS)));
  if (table.Has(NFTA_SET_ELEM_TIMEOUT)) out.timeoutMs = be64toh(ReadValue<uint64_t>(table.Get(NFTA_SET_ELEM_TIMEOUT)));
  if (table.Has(NFTA_SET_ELEM_EXPIRATION)) out.expiresMs = be64toh(ReadValue<uint64_t>(table.Get(NFTA_SET_ELEM_EXPIRATION)));
  out.comment = FindUserText(table.Get(NFTA_SET_ELEM_USERDATA), kComment);
  if (table.Has(NFTA_SET_ELEM_DATA)) {
    if (AttributeTable(table.Get(NFTA_SET_ELEM_DATA)).Has(NFTA_DATA_VERDICT))
      GetAttribute(table.Get(NFTA_SET_ELEM_DATA), out.verdict.emplace());
    else out.data = GetKey(table.Get(NFTA_SET_ELEM_DATA));
  }
  return out;
}

bool IsEnd(const RawElement& element) { return element.flags & NFT_SET_ELEM_INTERVAL_END; }

// By key; an end comes before a start at the same place, since it belongs to what went before.
bool Earlier(const RawElement& a, const RawElement& b) {
  if (a.key.data != b.key.data) return a.key.data < b.key.data;
  return IsEnd(a) && !IsEnd(b);
}

Element Finish(RawElement&& raw, const KeyRange& key, const KeyType& keyType, const KeyType& dataType, bool ranges) {
  Element out;
  out.key = raw.flags & NFT_SET_ELEM_CATCHALL ? std::string(kCatchAll) : keyType.Format(key, ranges);
  out.verdict = std::move(raw.verdict);
  if (raw.data) out.data = dataType.Format({*raw.data, *raw.data}, false);
  out.timeoutMs = raw.timeoutMs;
  out.expiresMs = raw.expiresMs;
  out.comment = std::move(raw.comment);
  return out;
}

}  // namespace

void Elements::Check(Verb verb) {
  Allow(verb, {Verb::Add, Verb::Create, Verb::Delete, Verb::Destroy}, kKind);
  if (!family || !WordOf(kNftFamilies, *family)) ThrowField("family", "must be one of " + ListWords(kNftFamilies));
  CheckName(table, "table");
  CheckName(set, "set");
  Need(type.has_value(), "elements need the type of the set's keys");
  Need(!elements.empty(), "say which elements");
  const KeyType keyType = KeyType::FromWords(*type, "type");
  const KeyType dataType = mapType ? KeyType::FromWords(*mapType, "mapType") : KeyType();
  const bool adds = verb == Verb::Add || verb == Verb::Create;
  ranges_ = flags && flags->value & NFT_SET_INTERVAL;
  pairs_ = ranges_ && !keyType.IsConcatenation();
  ready_.reserve(elements.size());
  for (const Element& element : elements) {
    Ready& ready = ready_.emplace_back();
    if (!element.key) ThrowField("key", "must be there in every element");
    ready.isCatchAll = *element.key == kCatchAll;
    if (!ready.isCatchAll) ready.key = keyType.Parse(*element.key, ranges_, "key");
    CheckComment(element.comment);
    if (!adds) continue;
    Need(element.verdict.has_value() == (mapType && dataType.IsVerdict()),
         "an element has a verdict if, and only if, the mapType is verdict");
    Need(element.data.has_value() == (mapType && !dataType.IsVerdict()),
         "an element has data if, and only if, there is a mapType other than verdict");
    if (element.data) ready.data = dataType.Parse(*element.data, false, "data").from;
  }
}

void Elements::BeginList(Batch& batch, uint16_t type, uint16_t newFlags, size_t owner, size_t& list) {
  BeginMessage(batch, type, newFlags, *family, owner);
  ToAttributes to(batch);
  Describe(to);
  list = batch.BeginNest(NFTA_SET_ELEM_LIST_ELEMENTS);
}

void Elements::Encode(Batch& batch, Verb verb, size_t owner) {
  const bool adds = verb == Verb::Add || verb == Verb::Create;
  const uint16_t type = adds                    ? static_cast<uint16_t>(NFT_MSG_NEWSETELEM)
                        : verb == Verb::Destroy ? kDestroyElement
                                                : static_cast<uint16_t>(NFT_MSG_DELSETELEM);
  const uint16_t newFlags = adds ? NewFlags(verb) : 0;
  size_t list = 0;
  BeginList(batch, type, newFlags, owner, list);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (batch.NestSize(list) > kListSize) {
      batch.EndNest(list);
      batch.End();
      BeginList(batch, type, newFlags, owner, list);
    }
    PutElement(batch, elements[i], ready_[i], adds);
  }
  batch.EndNest(list);
  batch.End();
}

void Elements::Keep(const std::function<bool(const std::string&)>& keep) {
  const KeyType keyType = KeyType::FromWords(*type, "type");
  size_t kept = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!keep(ready_[i].isCatchAll ? std::string(kCatchAll) : keyType.Format(ready_[i].key, ranges_))) continue;
    std::swap(elements[kept], elements[i]);
    std::swap(ready_[kept++], ready_[i]);
  }
  elements.resize(kept);
  ready_.resize(kept);
}

void Elements::PutElement(Batch& batch, const Element& element, const Ready& ready, bool values) const {
  KeyBytes end = ready.key.to;
  const bool paired = pairs_ && !ready.isCatchAll;
  const bool open = paired && !end.Increment();  // up to the largest value: there is no key behind it
  const size_t item = batch.BeginNest(NFTA_LIST_ELEM);
  if (ready.isCatchAll) batch.PutValue(NFTA_SET_ELEM_FLAGS, htobe32(NFT_SET_ELEM_CATCHALL));
  else PutKey(batch, NFTA_SET_ELEM_KEY, ready.key.from);
  if (ranges_ && !pairs_ && !ready.isCatchAll) PutKey(batch, NFTA_SET_ELEM_KEY_END, ready.key.to);
  if (values) {
    if (element.verdict) PutAttribute(batch, NFTA_SET_ELEM_DATA, *element.verdict);
    if (ready.data) PutKey(batch, NFTA_SET_ELEM_DATA, *ready.data);
    if (element.timeoutMs) batch.PutValue(NFTA_SET_ELEM_TIMEOUT, htobe64(*element.timeoutMs));
    if (element.expiresMs) batch.PutValue(NFTA_SET_ELEM_EXPIRATION, htobe64(*element.expiresMs));
    PutNotes(batch, element, open);
  }
  batch.EndNest(item);
  if (!paired || open) return;
  const size_t closing = batch.BeginNest(NFTA_LIST_ELEM);
  batch.PutValue(NFTA_SET_ELEM_FLAGS, htobe32(NFT_SET_ELEM_INTERVAL_END));
  PutKey(batch, NFTA_SET_ELEM_KEY, end);
  batch.EndNest(closing);
}

std::vector<RawElement> DecodeElements(const MessageView& message) {
  std::vector<RawElement> out;
  const AttributeTable table(message.Attributes<nfgenmsg>());
  ForEachAttribute(table.Get(NFTA_SET_ELEM_LIST_ELEMENTS),
                   [&](const Attribute& item) { out.push_back(DecodeElement(item.data)); });
  return out;
}

std::vector<Element> Assemble(std::vector<RawElement> raw, const Set& of) {
  const KeyType keyType = of.type ? KeyType::FromWords(*of.type, "type") : KeyType();
  const KeyType dataType = of.mapType ? KeyType::FromWords(*of.mapType, "mapType") : KeyType();
  const bool ranges = of.flags && of.flags->value & NFT_SET_INTERVAL;
  std::vector<Element> out;
  out.reserve(raw.size());
  if (!ranges || keyType.IsConcatenation()) {
    for (RawElement& one : raw) {
      const KeyRange key{one.key, one.keyEnd.value_or(one.key)};
      out.push_back(Finish(std::move(one), key, keyType, dataType, ranges));
    }
    return out;
  }
  std::sort(raw.begin(), raw.end(), Earlier);
  for (size_t i = 0; i < raw.size(); ++i) {
    if (IsEnd(raw[i])) continue;
    KeyRange key{raw[i].key, raw[i].key};
    size_t next = i + 1;
    while (next < raw.size() && raw[next].flags & NFT_SET_ELEM_CATCHALL) ++next;
    if (next < raw.size()) {
      key.to = raw[next].key;
      key.to.Decrement();
    } else {
      std::fill_n(key.to.data.begin(), key.to.size, 0xFF);
    }
    out.push_back(Finish(std::move(raw[i]), key, keyType, dataType, true));
  }
  return out;
}

}  // namespace trellis::netlink::nft
