// nf_tables for plugins: transactions and queries as JSON text, elements found by their comments.
// Guarantees: only this one family of the core is linked in.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "session/family.h"

namespace trellis::cni {

// Lists objects, handing each on; one that is not there (ENOENT) is an empty list.
void QueryNft(const std::string& query, const std::function<void(const json::Value&)>& onObject);

// Keys, as text, of the elements whose comment `wanted` says yes to. A set that is not there has none.
// `set` is the JSON members that name it: "family":"ip","table":"t","set":"s".
std::vector<std::string> FindElements(const std::string& set, const std::function<bool(std::string_view)>& wanted);

// Deletes a table none of whose `sets` holds an element any more, unless somebody changed the ruleset meanwhile.
// `table` is the JSON members "family":"ip","name":"t".
void DropIfEmpty(const std::string& table, const std::vector<std::string>& sets);

// The ruleset's generation, which every transaction moves on.
int64_t NftGeneration();

// Commits requests as one transaction and returns what was refused: then nothing of it was done.
std::vector<Refusal> TryNft(const std::string& requests);

// Commits requests as one transaction; throws Error Internal with `failure` and the kernel's words.
void CommitNft(const std::string& requests, const char* failure);
// The same for deletions. False when what was to be deleted, or its table, was gone already.
bool DeleteNft(const std::string& requests, const char* failure);

// Error Internal with `failure` and the kernel's words.
[[noreturn]] void ThrowRefusal(const Refusal& refusal, const char* failure);

}  // namespace trellis::cni
