// A change of one legacy table, from JSON: which table, and the steps of a restore.
// Guarantees: what makes no sense is an InputError before the kernel is asked for anything.
#pragma once
#include "base/json.h"
#include "xtables/table.h"

namespace trellis::xtables {

enum class Verb { Declare, Append, Insert, Delete, Remove };

struct Step {
  Verb verb;
  std::string chain;
  NewRule rule;  // of Append, Insert and Delete
};

struct Request {
  int domain;  // AF_INET or AF_INET6
  std::string table;
  std::string lock;  // the file that programs which change legacy tables lock
  std::vector<Step> steps;

  // {"do": "change", "kind": "table", "family": "ip", "name": "nat", "lock": "/run/xtables.lock", "steps": [
  //   {"do": "declare", "chain": "X"}, {"do": "append", "chain": "X", "rule": {"head": "..", "matches": [..], "jump": "Y"}}]}
  // A rule's head is the struct of addresses in hexadecimal; it has a target like its matches, a jump, or a verdict.
  static Request Read(const json::Value& from);
};

const Layout& LayoutOf(int domain);
// Does the steps on the table.
void Change(Table& table, const Request& request);

// The text of a field; InputError when it is missing or something else.
std::string_view TextOf(const json::Value& from, std::string_view field);
// AF_INET or AF_INET6 of the field "family", and the table of the field "name".
int DomainOf(const json::Value& from);
std::string TableOf(const json::Value& from);

}  // namespace trellis::xtables
