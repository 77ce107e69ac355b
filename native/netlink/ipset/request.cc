#include "netlink/ipset/request.h"

namespace trellis::netlink {

namespace {

constexpr Name kSetVerbs[] = {{"add", static_cast<uint32_t>(SetVerb::Add)},
                              {"delete", static_cast<uint32_t>(SetVerb::Delete)},
                              {"flush", static_cast<uint32_t>(SetVerb::Flush)},
                              {"rename", static_cast<uint32_t>(SetVerb::Rename)},
                              {"swap", static_cast<uint32_t>(SetVerb::Swap)}};

}  // namespace

void EncodedEntries::Add(SetEntry& entry, const json::Value& source) {
  if (bytes_.empty()) bytes_.Begin(0, 0);
  entry.Encode(bytes_);
  ends_.push_back(bytes_.size());
  sources_.push_back(&source);
}

Bytes EncodedEntries::operator[](size_t index) const {
  const size_t from = index == 0 ? NLMSG_HDRLEN : ends_[index - 1];
  return {bytes_.data() + from, ends_[index] - from};
}

EncodedEntries ReadEntryList(const json::Value& list, const SetShape& shape) {
  if (shape.type == nullptr) throw InputError("entries of sets of type " + shape.typeName + " are not known here");
  EncodedEntries entries;
  for (const json::Value& item : list.items()) {
    try {
      SetEntry entry = SetEntry::Read(item, shape);
      entries.Add(entry, item);
    } catch (const InputError& error) {
      throw InputError("entry '" + std::string(SetEntry::TextOf(item)) + "': " + error.what());
    }
  }
  return entries;
}

const Opt<SetShape>& SetCatalog::Find(const std::string& name) {
  const auto known = known_.find(name);
  return known != known_.end() ? known->second : known_[name] = ask_(name);
}

SetRequest SetCatalog::Read(const json::Value& request) {
  FromJson from(request);
  SetRequest read;
  const json::Value* verb = from.Take("do");
  if (verb == nullptr) throw InputError("field 'do' must be one of " + ListWords(kSetVerbs));
  read.verb = static_cast<SetVerb>(ReadWord(*verb, "do", kSetVerbs, 4));
  Opt<bool> existsOk, missingOk;
  from.Plain("existsOk", existsOk);
  from.Plain("missingOk", missingOk);
  if (existsOk && read.verb != SetVerb::Add) ThrowField("existsOk", "goes with 'add' only");
  if (missingOk && read.verb != SetVerb::Delete) ThrowField("missingOk", "goes with 'delete' only");
  read.exclusive = !existsOk.value_or(false) && !missingOk.value_or(false);

  std::string kind;
  if (const auto* word = from.Take("kind")) ReadJson(*word, "kind", kind);
  if (kind == "entry") {
    read.isEntry = true;
    ReadEntries(from, read);
  } else if (kind == "set") {
    ReadSet(from, read);
  } else {
    ThrowField("kind", "must be set or entry");
  }
  from.Finish();
  return read;
}

void SetCatalog::ReadSet(FromJson& from, SetRequest& to) {
  if (to.verb == SetVerb::Add) {
    to.set.Describe(from);
    to.set.CheckNew();
    to.method = FindSetType(*to.set.type)->method;
    known_[*to.set.name] = to.set.Shape();
    return;
  }
  from.Plain("name", to.set.name);
  if (to.verb == SetVerb::Flush || to.verb == SetVerb::Delete) {
    Opt<bool> all;
    from.Plain("all", all);
    to.all = all.value_or(false);
    if (to.all && to.set.name) ThrowField("all", "is for requests without a name");
    if (!to.all) CheckSetName(to.set.name);
    return;
  }
  CheckSetName(to.set.name);
  const char* field = to.verb == SetVerb::Rename ? "newName" : "with";
  Opt<std::string> other;
  from.Plain(field, other);
  CheckSetName(other, field);
  to.other = *other;
  // Later requests speak of the sets by their names from then on.
  Opt<SetShape> mine = Find(*to.set.name);
  Opt<SetShape> theirs = to.verb == SetVerb::Swap ? Find(to.other) : Opt<SetShape>{};
  known_[*to.set.name] = std::move(theirs);
  known_[to.other] = std::move(mine);
}

void SetCatalog::ReadEntries(FromJson& from, SetRequest& to) {
  if (to.verb != SetVerb::Add && to.verb != SetVerb::Delete) ThrowField("do", "must be add or delete for entries");
  Opt<std::string> type;
  Opt<uint8_t> family;
  from.Plain("set", to.set.name);
  from.Plain("type", type);
  from.PlainNamed("family", family, kSetFamilies);
  CheckSetName(to.set.name, "set");
  const json::Value* list = from.Take("entries");
  if (list == nullptr || !list->IsArray()) ThrowField("entries", "must be a list");
  Opt<SetShape> given;
  if (type) {
    IpSet told;
    told.name = to.set.name;
    told.type = type;
    told.family = family;
    if (const auto* known = FindSetType(*type); known != nullptr && known->method == SetMethod::Bitmap) told.range.emplace();
    told.CheckNew();
    given = told.Shape();
  } else if (family) {
    ThrowField("family", "goes with 'type'");
  }
  const Opt<SetShape>& shape = given ? given : Find(*to.set.name);
  to.isMissing = !shape;
  if (!shape) return;
  if (shape->type != nullptr) to.method = shape->type->method;
  to.entries = ReadEntryList(*list, *shape);
}

}  // namespace trellis::netlink
