#include "netlink/conntrack/family.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/error.h"

namespace trellis::netlink {

using conntrack::Filter;
using conntrack::FilterSet;
using conntrack::Flow;
using conntrack::MessageType;

namespace {

// "Compare the original tuple's protocol number", in the bits of CTA_FILTER_ORIG_FLAGS (kernel 5.8 and newer).
constexpr uint32_t kFilterProtocolNumber = 1 << 3;

Flow ReadAdd(const json::Value& request) {
  FromJson from(request);
  const json::Value* verb = from.Take("do");
  const json::Value* kind = from.Take("kind");
  from.Take("existsOk");
  if (verb == nullptr || verb->string() != "add") ThrowField("do", "must be add; flows are deleted by a query");
  if (kind == nullptr || kind->string() != "flow") ThrowField("kind", "must be flow");
  Flow flow;
  flow.Describe(from);
  from.Finish();
  flow.Complete();
  return flow;
}

FilterSet ReadFilters(const json::Value* list) {
  if (list == nullptr) return {};
  std::vector<Filter> filters;
  if (!list->IsArray()) ThrowField("filters", "must be a list");
  filters.reserve(list->items().size());
  for (const auto& item : list->items()) {
    const size_t index = filters.size();
    try {
      if (!item.IsObject()) throw InputError("a filter must be an object");
      FromJson from(item);
      Filter& filter = filters.emplace_back();
      filter.Describe(from);
      from.Finish();
      filter.Complete();
    } catch (const InputError& error) {
      throw RequestError(index, "filter " + std::to_string(index) + ": " + error.what());
    }
  }
  return FilterSet(filters);
}

// The kernel leaves out what no filter can match. Kernels that do not know CTA_FILTER ignore it; we match again anyway.
void PutDumpRequest(Batch& batch, const FilterSet& filters) {
  batch.Begin(MessageType(IPCTNL_MSG_CT_GET), NLM_F_DUMP);
  batch.Header(nfgenmsg{filters.family(), NFNETLINK_V0, 0});
  if (filters.family() != AF_UNSPEC && filters.protocol() != 0) {
    const size_t tuple = batch.BeginNest(CTA_TUPLE_ORIG);
    const size_t proto = batch.BeginNest(CTA_TUPLE_PROTO);
    batch.PutValue(CTA_PROTO_NUM, filters.protocol());
    batch.EndNest(proto);
    batch.EndNest(tuple);
    const size_t filter = batch.BeginNest(CTA_FILTER);
    batch.PutValue(CTA_FILTER_ORIG_FLAGS, kFilterProtocolNumber);
    batch.PutValue<uint32_t>(CTA_FILTER_REPLY_FLAGS, 0);
    batch.EndNest(filter);
  }
  batch.End();
}

void WriteNumber(ObjectSink& sink, const char* name, uint64_t value) {
  sink.Add([&](json::Writer& to) {
    to.BeginObject();
    to.Key(name);
    to.Unsigned(value);
    to.EndObject();
  });
}

}  // namespace

std::vector<Refusal> ConntrackFamily::Apply(const Requests& requests) {
  Batch batch;
  for (size_t i = 0; i < requests.size(); ++i) {
    try {
      ReadAdd(*requests[i]).EncodeAdd(batch, i);
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
  }
  std::vector<Refusal> refusals;
  for (Failure& failure : socket_.Exchange(batch)) refusals.push_back({failure.owner, failure.error, std::move(failure.text)});
  return refusals;
}

void ConntrackFamily::Query(const json::Value& query, ObjectSink& sink) {
  FromJson from(query);
  const json::Value* kind = from.Take("kind");
  const json::Value* list = from.Take("filters");
  from.Finish();
  const std::string_view word = kind != nullptr ? kind->string() : std::string_view{};
  const FilterSet filters = ReadFilters(list);
  if (word == "flow") {
    ForEachFlow(filters, [&](const MessageView&, Flow& flow) { sink.Add([&](json::Writer& to) { ToJson(to).Object(flow); }); });
  } else if (word == "count") {
    if (filters.MeansAll()) return WriteStatistics(sink);
    size_t count = 0;
    ForEachFlow(filters, [&](const MessageView&, Flow&) { ++count; });
    WriteNumber(sink, "count", count);
  } else if (word == "delete") {
    if (filters.MeansAll()) ThrowField("filters", "must say which flows to delete");
    WriteNumber(sink, "deleted", Delete(filters));
  } else {
    ThrowField("kind", "must be one of flow, count, delete");
  }
}

void ConntrackFamily::ForEachFlow(const FilterSet& filters, const OnFlow& visit) {
  Batch batch;
  PutDumpRequest(batch, filters);
  for (const auto& datagram : socket_.Dump(batch, "list flows"))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (message.header.nlmsg_type != MessageType(IPCTNL_MSG_CT_NEW)) return;
      Flow flow = Flow::Decode(message);
      if (filters.Matches(flow)) visit(message, flow);
    });
}

// The kernel keeps count; no need to list.
void ConntrackFamily::WriteStatistics(ObjectSink& sink) {
  Batch batch;
  batch.Begin(MessageType(IPCTNL_MSG_CT_GET_STATS), 0);
  batch.Header(nfgenmsg{AF_UNSPEC, NFNETLINK_V0, 0});
  batch.End();
  const auto failures = socket_.Exchange(batch, [&](const MessageView& message) {
    FromAttributes from(message.Attributes<nfgenmsg>());
    Opt<Be32> count, max;
    from("count", CTA_STATS_GLOBAL_ENTRIES, count);
    from("max", CTA_STATS_GLOBAL_MAX_ENTRIES, max);
    sink.Add([&](json::Writer& to) {
      to.BeginObject();
      ToJson members(to);
      members.Plain("count", count);
      members.Plain("max", max);
      to.EndObject();
    });
  });
  if (!failures.empty()) throw KernelError(failures[0].error, "count flows", failures[0].text);
}

size_t ConntrackFamily::Delete(const FilterSet& filters) {
  Batch batch;
  ForEachFlow(filters, [&](const MessageView& message, Flow&) { conntrack::EncodeDelete(batch, message, 0); });
  size_t deleted = batch.messages().size();
  Opt<Failure> refused;
  for (Failure& failure : socket_.Exchange(batch)) {
    --deleted;
    if (failure.error != ENOENT && !refused) refused = std::move(failure);
  }
  if (refused) throw KernelError(refused->error, "delete flows", refused->text);
  return deleted;
}

}  // namespace trellis::netlink
