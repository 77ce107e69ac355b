#include "cni/nft.h"

#include <cerrno>

#include "base/error.h"
#include "cni/error.h"
#include "netlink/nftables/family.h"

namespace trellis::cni {

namespace {

constexpr int kDropAttempts = 20;

// One socket for the life of the plugin: closing one waits until the kernel has freed all that was deleted before.
netlink::NftFamily& Session() {
  static netlink::NftFamily session{NetNs()};
  return session;
}

}  // namespace

void QueryNft(const std::string& query, const std::function<void(const json::Value&)>& onObject) {
  const json::Document question(query);
  ObjectSink sink;
  try {
    Session().Query(question.root(), sink);
  } catch (const KernelError& error) {
    if (error.error() != ENOENT) throw;
  }
  for (auto& chunk : sink.Take()) {
    const json::Document document(chunk);
    for (const auto& item : document.root().items()) onObject(item);
  }
}

std::vector<std::string> FindElements(const std::string& set, const std::function<bool(std::string_view)>& wanted) {
  std::vector<std::string> keys;
  QueryNft("{\"kind\":\"element\"," + set + "}", [&](const json::Value& item) {
    const json::Value* key = item.Find("key");
    const json::Value* comment = item.Find("comment");
    if (key != nullptr && wanted(comment != nullptr ? comment->string() : std::string_view())) keys.emplace_back(key->string());
  });
  return keys;
}

void DropIfEmpty(const std::string& table, const std::vector<std::string>& sets) {
  // A refusal means that the ruleset changed since we looked, by whatever table: look again, but not for ever.
  for (int attempt = 0; attempt < kDropAttempts; ++attempt) {
    const int64_t generation = NftGeneration();
    bool empty = true;
    for (const std::string& set : sets) FindElements(set, [&](std::string_view) { return empty = false; });
    if (!empty) return;
    if (TryNft(R"([{"do":"destroy","kind":"table",)" + table + R"(},{"do":"check","kind":"generation","generation":)" +
               std::to_string(generation) + "}]")
            .empty())
      return;
  }
}

int64_t NftGeneration() {
  int64_t generation = 0;
  QueryNft(R"({"kind":"generation"})", [&](const json::Value& answer) { generation = answer.Find("generation")->integer(); });
  return generation;
}

std::vector<Refusal> TryNft(const std::string& text) {
  const json::Document document(text);
  Requests requests;
  for (const auto& request : document.root().items()) requests.push_back(&request);
  return Session().Apply(requests);
}

void CommitNft(const std::string& requests, const char* failure) {
  const auto refusals = TryNft(requests);
  if (!refusals.empty()) ThrowRefusal(refusals[0], failure);
}

bool DeleteNft(const std::string& requests, const char* failure) {
  const auto refusals = TryNft(requests);
  for (const Refusal& refusal : refusals)
    if (refusal.error != ENOENT) ThrowRefusal(refusal, failure);
  return refusals.empty();
}

void ThrowRefusal(const Refusal& refusal, const char* failure) {
  throw Error(Code::Internal, failure, KernelError(refusal.error, "nf_tables", refusal.text).what());
}

}  // namespace trellis::cni
