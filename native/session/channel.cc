#include "session/channel.h"

#include <deque>

#include "base/error.h"
#include "base/trim_heap.h"

namespace trellis {

namespace {

CallError RefusalError(const Refusal& refusal, const json::Value& request) {
  std::string operation = DescribeRequest(request);
  if (!refusal.detail.empty()) operation += " " + refusal.detail;
  const KernelError error(refusal.error, std::move(operation), refusal.text);
  return {ErrorName(refusal.error), error.what(), error.operation(), refusal.text, refusal.error, refusal.index, refusal.entry};
}

}  // namespace

void CallError::Write(json::Writer& to) const {
  to.BeginObject();
  auto string = [&](const char* name, const std::string& value) {
    to.Key(name);
    to.String(value);
  };
  string("code", code);
  string("message", message);
  string("operation", operation);
  string("kernel", kernel);
  to.Key("errno");
  to.Integer(error);
  if (index) {
    to.Key("index");
    to.Unsigned(*index);
  }
  if (entry) {
    to.Key("entry");
    to.Unsigned(*entry);
  }
  to.EndObject();
}

CallError CurrentError() {
  try {
    throw;
  } catch (const KernelError& error) {
    return {ErrorName(error.error()), error.what(), error.operation(), error.text(), error.error(), {}};
  } catch (const RequestError& error) {
    return {"INVALID", error.what(), "", "", 0, error.index()};
  } catch (const InputError& error) {
    return {"INVALID", error.what(), "", "", 0, {}};
  } catch (const json::ParseError& error) {
    return {"INVALID", std::string("the request is not JSON: ") + error.what(), "", "", 0, {}};
  } catch (const std::bad_alloc&) {
    return {"ENOMEM", "out of memory", "", "", 12, {}};
  } catch (const std::exception& error) {
    return {"INTERNAL", error.what(), "", "", 0, {}};
  }
}

NetNs NetNsSpec::Open() const {
  if (!path.empty()) return NetNs::OpenPath(path);
  if (pid != 0) return NetNs::OpenPid(pid);
  return {};
}

Channel::Channel(std::string family, const NetNsSpec& netns) : family_(OpenFamily(family, netns.Open())) {}

std::string Channel::Apply(std::vector<std::string> chunks) {
  TrimHeap after;
  for (const auto& chunk : chunks) after.Add(chunk.size());
  std::deque<json::Document> documents;
  Requests requests;
  for (auto& chunk : chunks) {
    const json::Value& root = documents.emplace_back(std::exchange(chunk, {})).root();
    if (!root.IsArray()) throw InputError("requests come as a list");
    for (const auto& request : root.items()) {
      if (!request.IsObject()) throw RequestError(requests.size(), "a request must be an object");
      requests.push_back(&request);
    }
  }
  const std::lock_guard lock(mutex_);
  std::vector<Refusal> refusals;
  try {
    refusals = family_->Apply(requests);
  } catch (const RequestError& error) {
    throw RequestError(error.index(), DescribeRequest(*requests[error.index()]) + ": " + error.what());
  }
  json::Writer to;
  to.BeginArray();
  for (const Refusal& refusal : refusals)
    if (!IsAllowed(*requests[refusal.index], refusal.error)) RefusalError(refusal, *requests[refusal.index]).Write(to);
  to.EndArray();
  return to.Take();
}

std::vector<std::string> Channel::Query(std::string query) {
  const json::Document document(query);
  if (!document.root().IsObject()) throw InputError("a query must be an object");
  const std::lock_guard lock(mutex_);
  ObjectSink sink;
  family_->Query(document.root(), sink);
  return sink.Take();
}

}  // namespace trellis
