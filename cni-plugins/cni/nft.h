// nf_tables for plugins: transactions and queries as JSON text, elements found by their comments.
// Guarantees: only this one family of the core is linked in.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trellis::cni {

// Lists objects, handing each on; one that is not there (ENOENT) is an empty list.
void QueryNft(const std::string& query, const std::function<void(const json::Value&)>& onObject);

// Keys, as text, of the elements whose comment `wanted` says yes to. A set that is not there has none.
// `set` is the JSON members that name it: "family":"ip","table":"t","set":"s".
std::vector<std::string> FindElements(const std::string& set, const std::function<bool(std::string_view)>& wanted);

// Deletes a table none of whose `sets` holds an element any more, unless somebody changed the ruleset meanwhile.
// `table` is the JSON members "family":"ip","name":"t".
void DropIfEmpty(const std::string& table, const std::vector<std::string>& sets);

// Commits requests as one transaction; throws Error Internal with `failure` and the kernel's words.
void CommitNft(const std::string& requests, const char* failure);
// The same for deletions: what is not there, or whose table is gone, is deleted.
void DeleteNft(const std::string& requests, const char* failure);

}  // namespace trellis::cni
