#include "netlink/ipset/family.h"

#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>

#include "netlink/ipset/run.h"

namespace trellis::netlink {

namespace {

constexpr uint8_t kNewestProtocol = 7;
constexpr uint8_t kOldestProtocol = 6;
// Entries of one object of a listing: small enough that JavaScript reads it in a fraction of a millisecond.
constexpr size_t kEntriesPerObject = 500;

bool IsIpset(const MessageView& message) { return message.header.nlmsg_type >> 8 == NFNL_SUBSYS_IPSET; }

}  // namespace

IpsetProtocol IpsetProtocol::Decode(const MessageView& message) {
  const AttributeTable table(message.Attributes<nfgenmsg>());
  IpsetProtocol out;
  if (table.Has(IPSET_ATTR_PROTOCOL)) out.newest = ReadValue<uint8_t>(table.Get(IPSET_ATTR_PROTOCOL));
  out.oldest = table.Has(IPSET_ATTR_PROTOCOL_MIN) ? ReadValue<uint8_t>(table.Get(IPSET_ATTR_PROTOCOL_MIN)) : out.newest;
  return out;
}

void ForEachEntry(const MessageView& message, const std::function<void(const SetEntry&)>& visit) {
  const AttributeTable table(message.Attributes<nfgenmsg>());
  ForEachAttribute(table.Get(IPSET_ATTR_ADT), [&](const Attribute& entry) {
    if (entry.type == IPSET_ATTR_DATA) visit(SetEntry::Decode(entry.data));
  });
}

IpsetFamily::IpsetFamily(const NetNs& ns) : socket_(NETLINK_NETFILTER, ns) {
  Batch batch;
  BeginIpset(batch, IPSET_CMD_PROTOCOL, 0, kNewestProtocol);
  batch.End();
  IpsetProtocol kernel;
  const auto failures = socket_.Exchange(batch, [&](const MessageView& message) { kernel = IpsetProtocol::Decode(message); });
  const std::string operation = "agree on ipset's protocol";
  if (!failures.empty() && (failures[0].error == EINVAL || failures[0].error == EOPNOTSUPP))
    throw KernelError(EOPNOTSUPP, operation, "this kernel has no ipset; load the module ip_set, or use a kernel built with it");
  if (!failures.empty()) throw KernelError(failures[0].error, operation, failures[0].text);
  if (kernel.newest < kOldestProtocol || kernel.oldest > kNewestProtocol)
    throw KernelError(EPROTONOSUPPORT, operation,
                      "the kernel speaks versions " + std::to_string(kernel.oldest) + " to " + std::to_string(kernel.newest) +
                          ", we speak 6 and 7");
  protocol_ = std::min(kernel.newest, kNewestProtocol);
}

std::vector<Refusal> IpsetFamily::Apply(const Requests& requests) {
  SetCatalog catalog([this](const std::string& name) { return AskShape(name); });
  std::vector<SetRequest> read;
  read.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    try {
      SetRequest& request = read.emplace_back(catalog.Read(*requests[i]));
      if (!request.isEntry && request.verb == SetVerb::Add)
        request.set.revision = AskRevision(*FindSetType(*request.set.type), *request.set.family);
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
  }
  SetRun run(socket_, protocol_);
  for (size_t i = 0; i < read.size(); ++i) run.Do(read[i], i);
  return run.Finish();
}

Opt<SetShape> IpsetFamily::AskShape(const std::string& name) {
  Batch batch;
  BeginIpset(batch, IPSET_CMD_HEADER, 0, protocol_);
  batch.PutString(IPSET_ATTR_SETNAME, name);
  batch.End();
  IpSet set;
  const auto failures = socket_.Exchange(batch, [&](const MessageView& message) { IpSet::Decode(message, set); });
  if (!failures.empty() && failures[0].error != ENOENT) throw KernelError(failures[0].error, "get set " + name, failures[0].text);
  if (!failures.empty()) return {};
  return set.Shape();
}

// The table's revision, moved into what this kernel has. A type it lacks is refused when the set is made.
uint8_t IpsetFamily::AskRevision(const SetType& type, uint8_t family) {
  const auto known = revisions_.find({type.name, family});
  if (known != revisions_.end()) return known->second;
  Batch batch;
  BeginIpset(batch, IPSET_CMD_TYPE, 0, protocol_);
  batch.PutString(IPSET_ATTR_TYPENAME, type.name);
  batch.PutValue(IPSET_ATTR_FAMILY, family);
  batch.End();
  uint8_t revision = type.revision;
  socket_.Exchange(batch, [&](const MessageView& message) {
    const AttributeTable table(message.Attributes<nfgenmsg>());
    if (!table.Has(IPSET_ATTR_REVISION) || !table.Has(IPSET_ATTR_REVISION_MIN)) return;
    revision = std::max(revision, ReadValue<uint8_t>(table.Get(IPSET_ATTR_REVISION_MIN)));
    revision = std::min(revision, ReadValue<uint8_t>(table.Get(IPSET_ATTR_REVISION)));
  });
  return revisions_[{type.name, family}] = revision;
}

void IpsetFamily::Query(const json::Value& query, ObjectSink& sink) {
  FromJson from(query);
  std::string kind;
  if (const auto* word = from.Take("kind")) ReadJson(*word, "kind", kind);
  if (kind == "set") return QuerySets(from, sink);
  if (kind == "membership") return QueryMembership(from, sink);
  if (kind != "protocol") ThrowField("kind", "must be set, membership or protocol");
  from.Finish();
  sink.Add([&](json::Writer& to) {
    to.BeginObject();
    to.Key("version");
    to.Unsigned(protocol_);
    to.EndObject();
  });
}

// A set's header comes as one object, its members after it in pieces: {"set":..., "entries":[...]}.
void IpsetFamily::QuerySets(FromJson& from, ObjectSink& sink) {
  Opt<std::string> name;
  Opt<bool> entries;
  from.Plain("name", name);
  from.Plain("entries", entries);
  from.Finish();
  if (name) CheckSetName(name);
  Batch batch;
  BeginIpset(batch, IPSET_CMD_LIST, NLM_F_DUMP, protocol_);
  if (name) batch.PutString(IPSET_ATTR_SETNAME, *name);
  if (!entries.value_or(true)) PutAttribute(batch, IPSET_ATTR_FLAGS, Net32{IPSET_FLAG_LIST_HEADER});
  batch.End();

  std::string current;
  std::vector<SetEntry> piece;
  auto deliver = [&] {
    if (piece.empty()) return;
    sink.Add([&](json::Writer& to) {
      to.BeginObject();
      to.Key("set");
      to.String(current);
      to.Key("entries");
      to.BeginArray();
      for (const SetEntry& entry : piece) entry.Write(to);
      to.EndArray();
      to.EndObject();
    });
    piece.clear();
  };
  for (const auto& datagram : socket_.Dump(batch, name ? "list set " + *name : "list sets"))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (!IsIpset(message)) return;
      IpSet set;
      const bool isNew = IpSet::Decode(message, set);
      if (isNew) {
        deliver();
        current = set.name.value_or("");
        sink.Add([&](json::Writer& to) { ToJson(to).Object(set); });
      }
      ForEachEntry(message, [&](const SetEntry& entry) {
        piece.push_back(entry);
        if (piece.size() == kEntriesPerObject) deliver();
      });
    });
  deliver();
}

// {"entry":..., "member":true|false} for each entry asked about, in order.
void IpsetFamily::QueryMembership(FromJson& from, ObjectSink& sink) {
  Opt<std::string> name;
  from.Plain("set", name);
  const json::Value* list = from.Take("entries");
  from.Finish();
  CheckSetName(name, "set");
  if (list == nullptr || !list->IsArray()) ThrowField("entries", "must be a list");
  const std::string operation = "test entries of set " + *name;
  const auto shape = AskShape(*name);
  if (!shape) throw KernelError(ENOENT, operation, "there is no such set");
  const EncodedEntries entries = ReadEntryList(*list, *shape);
  Batch batch;
  for (size_t i = 0; i < entries.size(); ++i) {
    BeginIpset(batch, IPSET_CMD_TEST, 0, protocol_, i);
    batch.PutString(IPSET_ATTR_SETNAME, *name);
    batch.Append(entries[i].data(), entries[i].size());
    batch.End();
  }
  std::vector<bool> member(entries.size(), true);
  for (const Failure& failure : socket_.Exchange(batch)) {
    if (failure.error != IPSET_ERR_EXIST) {
      const auto text = entries.TextOf(failure.owner);
      throw KernelError(UniqueSetError(failure.error, shape->type->method), operation + " " + std::string(text), failure.text);
    }
    member[failure.owner] = false;
  }
  for (size_t i = 0; i < entries.size(); ++i)
    sink.Add([&](json::Writer& to) {
      to.BeginObject();
      to.Key("entry");
      to.String(entries.TextOf(i));
      to.Key("member");
      to.Bool(member[i]);
      to.EndObject();
    });
}

}  // namespace trellis::netlink
