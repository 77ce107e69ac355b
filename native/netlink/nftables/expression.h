// One expression of a rule, and lists of them: {"payload":{...}}, {"cmp":{...}}, ...
// Guarantees: a list read back from the kernel has the form it was given in; kinds unknown here are told as "other".
#pragma once
#include <variant>
#include <vector>

#include "netlink/nftables/actions.h"
#include "netlink/nftables/matches.h"
#include "netlink/nftables/xtables.h"

namespace trellis::netlink::nft {

// An expression that only other programs make (objects, connlimit ...): told, never written.
struct Other {
  static constexpr std::string_view kName = "other";
  Opt<std::string> name;

  template <class C>
  void Describe(C& c) {
    c.Plain("name", name);
  }
  void Check() const { throw InputError("an expression of kind 'other' can be read but not written"); }
  void Tidy() {}
};

using Expression = std::variant<Payload, Meta, Ct, Fib, Numgen, Hash, Immediate, Cmp, Range, Bitwise, Byteorder, Lookup, Dynset,
                                Nat, Masq, Redir, Reject, Counter, Limit, Log, Notrack, Match, Target, Other>;
using Expressions = std::vector<Expression>;

void ReadJson(const json::Value& from, std::string_view name, Expression& to);
void WriteJson(json::Writer& to, const Expression& from);
// The list attribute: NFTA_LIST_ELEM for each.
void PutAttribute(Batch& to, uint16_t type, const Expressions& from);
void GetAttribute(Bytes from, Expressions& to);
// One text for each meaning: equal for lists that differ in their counters' numbers only.
std::string Fingerprint(const Expressions& expressions);

}  // namespace trellis::netlink::nft
