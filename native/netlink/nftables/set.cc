#include "netlink/nftables/set.h"

#include <linux/netfilter/nfnetlink.h>

namespace trellis::netlink::nft {

namespace {

// nft's notes about a set (libnftnl's enum nftnl_udata_set_types).
constexpr uint8_t kKeyByteOrder = 0, kDataByteOrder = 1, kMergeElements = 2, kDataInterval = 6, kSetComment = 7;
// Ids the caller did not give are counted from here, out of the way of those it did.
constexpr uint32_t kOwnIds = 0x80000000;

void PutDescription(Batch& batch, const Set& set, const KeyType& key, bool ranges) {
  if (!set.size && !ranges) return;
  const size_t nest = batch.BeginNest(NFTA_SET_DESC);
  if (set.size) batch.PutValue(NFTA_SET_DESC_SIZE, htobe32(*set.size));
  if (ranges) {
    // The kernel chooses the set type that can hold ranges in each field by this list.
    const size_t fields = batch.BeginNest(NFTA_SET_DESC_CONCAT);
    for (const DataType* field : key.fields()) {
      const size_t item = batch.BeginNest(NFTA_LIST_ELEM);
      batch.PutValue(NFTA_SET_FIELD_LEN, htobe32(field->size));
      batch.EndNest(item);
    }
    batch.EndNest(fields);
  }
  batch.EndNest(nest);
}

void PutNotes(Batch& batch, const Set& set, const KeyType& key, const Opt<KeyType>& data) {
  UserData notes;
  notes.PutNumber(kKeyByteOrder, key.ByteOrder());
  if (data) notes.PutNumber(kDataByteOrder, data->ByteOrder());
  if (set.autoMerge.value_or(false)) notes.PutNumber(kMergeElements, 1);
  if (data) notes.PutNumber(kDataInterval, 0);
  if (set.comment) notes.PutText(kSetComment, *set.comment);
  batch.Put(NFTA_SET_USERDATA, notes.bytes());
}

}  // namespace

void Set::Check(Verb verb) const {
  Allow(verb, {Verb::Add, Verb::Create, Verb::Delete, Verb::Destroy, Verb::Flush}, kKind);
  if (!family || !WordOf(kNftFamilies, *family)) ThrowField("family", "must be one of " + ListWords(kNftFamilies));
  CheckName(table, "table");
  CheckName(name, "name");
  CheckComment(comment);
  if (verb != Verb::Add && verb != Verb::Create) return;
  Need(type.has_value(), "a set needs the type of its keys");
  const KeyType key = KeyType::FromWords(*type, "type");
  if (key.IsVerdict()) ThrowField("type", "cannot be a verdict");
  if (mapType) KeyType::FromWords(*mapType, "mapType");
  const uint32_t bits = flags ? flags->value : 0;
  Need(!(bits & NFT_SET_ANONYMOUS) || id, "an anonymous set needs an id, by which rules of the same batch find it");
  if (id && id->value >= kOwnIds) ThrowField("id", "must be below 2147483648");
}

void Set::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Flush) {
    // A deletion of elements that names none.
    BeginMessage(batch, NFT_MSG_DELSETELEM, 0, *family, owner);
    batch.PutString(NFTA_SET_ELEM_LIST_TABLE, *table);
    batch.PutString(NFTA_SET_ELEM_LIST_SET, *name);
    return batch.End();
  }
  if (verb == Verb::Delete || verb == Verb::Destroy) {
    BeginMessage(batch, verb == Verb::Destroy ? kDestroySet : static_cast<uint16_t>(NFT_MSG_DELSET), 0, *family, owner);
    batch.PutString(NFTA_SET_TABLE, *table);
    batch.PutString(NFTA_SET_NAME, *name);
    return batch.End();
  }
  const KeyType key = KeyType::FromWords(*type, "type");
  const Opt<KeyType> data = mapType ? Opt<KeyType>(KeyType::FromWords(*mapType, "mapType")) : std::nullopt;
  uint32_t bits = flags ? flags->value : 0;
  const bool ranges = (bits & NFT_SET_INTERVAL) && key.IsConcatenation();
  if (data) bits |= NFT_SET_MAP;
  if (ranges) bits |= NFT_SET_CONCAT;

  BeginMessage(batch, NFT_MSG_NEWSET, NewFlags(verb), *family, owner);
  ToAttributes to(batch);
  Describe(to);
  batch.PutValue(NFTA_SET_FLAGS, htobe32(bits));
  batch.PutValue(NFTA_SET_KEY_TYPE, htobe32(key.Number()));
  batch.PutValue(NFTA_SET_KEY_LEN, htobe32(key.Length()));
  if (data) {
    batch.PutValue(NFTA_SET_DATA_TYPE, htobe32(data->IsVerdict() ? static_cast<uint32_t>(NFT_DATA_VERDICT) : data->Number()));
    batch.PutValue(NFTA_SET_DATA_LEN, htobe32(data->Length()));
  }
  batch.PutValue(NFTA_SET_ID, htobe32(id ? id->value : kOwnIds + static_cast<uint32_t>(owner)));
  PutDescription(batch, *this, key, ranges);
  PutNotes(batch, *this, key, data);
  batch.End();
}

Set Set::Decode(const MessageView& message) {
  FromAttributes from(message.Attributes<nfgenmsg>());
  const AttributeTable& table = from.table();
  Set out;
  out.Describe(from);
  out.family = message.Head<nfgenmsg>().nfgen_family;
  from("flags", NFTA_SET_FLAGS, out.flags);
  DropZero(out.policy);  // performance is the default
  auto number = [&](uint16_t type) { return table.Has(type) ? be32toh(ReadValue<uint32_t>(table.Get(type))) : 0; };
  auto words = [](const Opt<KeyType>& type) { return type ? Opt<std::vector<std::string>>(type->Words()) : std::nullopt; };
  out.type = words(KeyType::FromNumber(number(NFTA_SET_KEY_TYPE)));
  if (out.flags && out.flags->value & NFT_SET_MAP) {
    const uint32_t data = number(NFTA_SET_DATA_TYPE);
    out.mapType = data == NFT_DATA_VERDICT ? Opt<std::vector<std::string>>({"verdict"}) : words(KeyType::FromNumber(data));
  }
  if (out.flags && (out.flags->value & ~(NFT_SET_MAP | NFT_SET_CONCAT)) == 0) out.flags.reset();
  const AttributeTable description(table.Get(NFTA_SET_DESC));
  if (description.Has(NFTA_SET_DESC_SIZE)) out.size = be32toh(ReadValue<uint32_t>(description.Get(NFTA_SET_DESC_SIZE)));
  const Bytes notes = table.Get(NFTA_SET_USERDATA);
  if (const auto merge = FindUserData(notes, kMergeElements); merge && merge->size() == 4 && ReadValue<uint32_t>(*merge) != 0)
    out.autoMerge = true;
  out.comment = FindUserText(notes, kSetComment);
  return out;
}

}  // namespace trellis::netlink::nft
