#include "netlink/nftables/objects.h"

#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>

#include <algorithm>

namespace trellis::netlink::nft {

namespace {

// The note that holds a comment in the user data of tables, chains and rules alike.
constexpr uint8_t kCommentNote = 0;

constexpr Name kInetHooks[] = {{"prerouting", NF_INET_PRE_ROUTING},   {"input", NF_INET_LOCAL_IN},
                               {"forward", NF_INET_FORWARD},          {"output", NF_INET_LOCAL_OUT},
                               {"postrouting", NF_INET_POST_ROUTING}, {"ingress", NF_INET_INGRESS}};
constexpr Name kArpHooks[] = {{"input", 0}, {"output", 1}};
constexpr Name kNetdevHooks[] = {{"ingress", 0}, {"egress", 1}};

Names HooksOf(uint8_t family) {
  if (family == NFPROTO_ARP) return kArpHooks;
  if (family == NFPROTO_NETDEV) return kNetdevHooks;
  return kInetHooks;
}

void PutComment(Batch& batch, uint16_t type, const Opt<std::string>& comment) {
  if (!comment) return;
  UserData notes;
  notes.PutText(kCommentNote, *comment);
  batch.Put(type, notes.bytes());
}

void CheckFamily(const Opt<uint8_t>& family) {
  if (!family || !WordOf(kNftFamilies, *family)) ThrowField("family", "must be one of " + ListWords(kNftFamilies));
}

uint16_t DeleteType(Verb verb, uint16_t deleting, uint16_t destroying) { return verb == Verb::Destroy ? destroying : deleting; }

bool IsDeletion(Verb verb) { return verb == Verb::Delete || verb == Verb::Destroy; }

}  // namespace

uint16_t NewFlags(Verb verb) { return static_cast<uint16_t>(NLM_F_CREATE | (verb == Verb::Create ? NLM_F_EXCL : 0)); }

void Allow(Verb verb, std::initializer_list<Verb> verbs, std::string_view kind) {
  if (std::find(verbs.begin(), verbs.end(), verb) != verbs.end()) return;
  std::string words;
  for (const Verb one : verbs) words += (words.empty() ? "" : ", ") + std::string(*WordOf(kVerbs, static_cast<uint32_t>(one)));
  ThrowField("do", "must be one of " + words + " for kind '" + std::string(kind) + "'");
}

void Table::Check(Verb verb) const {
  Allow(verb, {Verb::Add, Verb::Create, Verb::Delete, Verb::Destroy, Verb::Flush}, kKind);
  CheckFamily(family);
  CheckName(name, "name");
  CheckComment(comment);
}

void Table::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Flush) {
    // A deletion of rules that names a table only.
    BeginMessage(batch, NFT_MSG_DELRULE, 0, *family, owner);
    batch.PutString(NFTA_RULE_TABLE, *name);
  } else if (IsDeletion(verb)) {
    BeginMessage(batch, DeleteType(verb, NFT_MSG_DELTABLE, kDestroyTable), 0, *family, owner);
    batch.PutString(NFTA_TABLE_NAME, *name);
  } else {
    BeginMessage(batch, NFT_MSG_NEWTABLE, NewFlags(verb), *family, owner);
    ToAttributes to(batch);
    Describe(to);
    PutComment(batch, NFTA_TABLE_USERDATA, comment);
  }
  batch.End();
}

Table Table::Decode(const MessageView& message) {
  FromAttributes from(message.Attributes<nfgenmsg>());
  Table out;
  out.Describe(from);
  out.family = message.Head<nfgenmsg>().nfgen_family;
  out.comment = FindUserText(from.table().Get(NFTA_TABLE_USERDATA), kCommentNote);
  DropZero(out.flags);
  return out;
}

void Chain::Check(Verb verb) const {
  Allow(verb, {Verb::Add, Verb::Create, Verb::Delete, Verb::Destroy, Verb::Flush}, kKind);
  CheckFamily(family);
  CheckName(table, "table");
  CheckName(name, "name");
  CheckComment(comment);
  if (hook) {
    if (!ValueOf(HooksOf(*family), *hook))
      ThrowField("hook", "must be one of " + ListWords(HooksOf(*family)) + " in this family");
    Need(type && priority, "a base chain needs type, hook and priority");
  } else {
    Need(!type && !priority && !devices, "type, priority and devices belong to a base chain, which has a hook");
  }
  if (devices)
    for (const auto& device : *devices)
      if (device.empty() || device.size() >= IFNAMSIZ) ThrowField("devices", "must hold names of 1 to 15 bytes");
}

void Chain::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Flush) {
    BeginMessage(batch, NFT_MSG_DELRULE, 0, *family, owner);
    batch.PutString(NFTA_RULE_TABLE, *table);
    batch.PutString(NFTA_RULE_CHAIN, *name);
    return batch.End();
  }
  if (IsDeletion(verb)) {
    BeginMessage(batch, DeleteType(verb, NFT_MSG_DELCHAIN, kDestroyChain), 0, *family, owner);
    batch.PutString(NFTA_CHAIN_TABLE, *table);
    batch.PutString(NFTA_CHAIN_NAME, *name);
    return batch.End();
  }
  BeginMessage(batch, NFT_MSG_NEWCHAIN, NewFlags(verb), *family, owner);
  ToAttributes to(batch);
  Describe(to);
  if (hook) {
    const size_t nest = batch.BeginNest(NFTA_CHAIN_HOOK);
    batch.PutValue(NFTA_HOOK_HOOKNUM, htobe32(*ValueOf(HooksOf(*family), *hook)));
    batch.PutValue(NFTA_HOOK_PRIORITY, htobe32(static_cast<uint32_t>(*priority)));
    if (devices && devices->size() == 1) batch.PutString(NFTA_HOOK_DEV, devices->front());
    if (devices && devices->size() > 1) {
      const size_t list = batch.BeginNest(NFTA_HOOK_DEVS);
      for (const auto& device : *devices) batch.PutString(NFTA_DEVICE_NAME, device);
      batch.EndNest(list);
    }
    batch.EndNest(nest);
  }
  PutComment(batch, NFTA_CHAIN_USERDATA, comment);
  batch.End();
}

Chain Chain::Decode(const MessageView& message) {
  FromAttributes from(message.Attributes<nfgenmsg>());
  Chain out;
  out.Describe(from);
  out.family = message.Head<nfgenmsg>().nfgen_family;
  out.comment = FindUserText(from.table().Get(NFTA_CHAIN_USERDATA), kCommentNote);
  if (!from.table().Has(NFTA_CHAIN_HOOK)) return out;
  const AttributeTable hooks(from.table().Get(NFTA_CHAIN_HOOK));
  const uint32_t number = be32toh(ReadValue<uint32_t>(hooks.Get(NFTA_HOOK_HOOKNUM)));
  out.hook = std::string(WordOf(HooksOf(*out.family), number).value_or("other"));
  out.priority = static_cast<int32_t>(be32toh(ReadValue<uint32_t>(hooks.Get(NFTA_HOOK_PRIORITY))));
  ForEachAttribute(hooks.Get(NFTA_HOOK_DEVS), [&](const Attribute& device) {
    if (device.type != NFTA_DEVICE_NAME) return;
    if (!out.devices) out.devices.emplace();
    out.devices->emplace_back(ReadString(device.data));
  });
  if (!out.devices && hooks.Has(NFTA_HOOK_DEV)) out.devices.emplace().emplace_back(ReadString(hooks.Get(NFTA_HOOK_DEV)));
  return out;
}

void Rule::Check(Verb verb) const {
  Allow(verb, {Verb::Add, Verb::Insert, Verb::Replace, Verb::Delete, Verb::Destroy}, kKind);
  CheckFamily(family);
  CheckName(table, "table");
  CheckName(chain, "chain");
  CheckComment(comment);
  Need(!before || verb == Verb::Insert, "'before' goes with insert");
  Need(!after || verb == Verb::Add, "'after' goes with add");
  if (verb == Verb::Add || verb == Verb::Insert) {
    Need(!handle, "a new rule has no handle yet; 'before' and 'after' say where it goes");
  } else if (verb == Verb::Delete) {
    Need(handle.has_value() != expressions.has_value(), "say which rule by its handle or by its expressions");
  } else {
    Need(handle.has_value(), "say which rule by its handle");
  }
  Need(IsDeletion(verb) || expressions, "a rule needs its expressions");
}

void Rule::Encode(Batch& batch, Verb verb, size_t owner) {
  if (IsDeletion(verb)) {
    BeginMessage(batch, DeleteType(verb, NFT_MSG_DELRULE, kDestroyRule), 0, *family, owner);
    batch.PutString(NFTA_RULE_TABLE, *table);
    batch.PutString(NFTA_RULE_CHAIN, *chain);
    PutAttribute(batch, NFTA_RULE_HANDLE, *handle);
    return batch.End();
  }
  const uint16_t flags = verb == Verb::Replace ? NLM_F_REPLACE : verb == Verb::Add ? NLM_F_CREATE | NLM_F_APPEND : NLM_F_CREATE;
  BeginMessage(batch, NFT_MSG_NEWRULE, flags, *family, owner);
  ToAttributes to(batch);
  Describe(to);
  if (before || after) PutAttribute(batch, NFTA_RULE_POSITION, before ? *before : *after);
  if (protocol) {
    const size_t nest = batch.BeginNest(NFTA_RULE_COMPAT);
    batch.PutValue(NFTA_RULE_COMPAT_PROTO, htobe32(*protocol));
    batch.PutValue(NFTA_RULE_COMPAT_FLAGS, uint32_t{0});
    batch.EndNest(nest);
  }
  PutComment(batch, NFTA_RULE_USERDATA, comment);
  batch.End();
}

Rule Rule::Decode(const MessageView& message) {
  FromAttributes from(message.Attributes<nfgenmsg>());
  Rule out;
  out.Describe(from);
  out.family = message.Head<nfgenmsg>().nfgen_family;
  out.comment = FindUserText(from.table().Get(NFTA_RULE_USERDATA), kCommentNote);
  if (!out.expressions) out.expressions.emplace();  // the kernel leaves an empty list out
  return out;
}

void Ruleset::Check(Verb verb) const {
  Allow(verb, {Verb::Flush}, kKind);
  if (family) CheckFamily(family);
}

void Ruleset::Encode(Batch& batch, Verb, size_t owner) {
  // A deletion of tables that names none.
  BeginMessage(batch, NFT_MSG_DELTABLE, 0, family.value_or(NFPROTO_UNSPEC), owner);
  batch.End();
}

void Generation::Check(Verb verb) const {
  Allow(verb, {Verb::Check}, kKind);
  Need(generation.has_value(), "say which generation is expected");
}

}  // namespace trellis::netlink::nft
