// Tables, chains and rules.
// Guarantees: comments travel as nft writes them; hooks and policies are words.
#pragma once
#include "netlink/nftables/expression.h"

namespace trellis::netlink::nft {

// What a request does. Add makes it or leaves it; Create wants it new; Destroy is a Delete that does not mind.
enum class Verb : uint8_t { Add, Create, Insert, Replace, Delete, Destroy, Flush, Check };

inline constexpr Name kVerbs[] = {
    {"add", static_cast<uint32_t>(Verb::Add)},       {"create", static_cast<uint32_t>(Verb::Create)},
    {"insert", static_cast<uint32_t>(Verb::Insert)}, {"replace", static_cast<uint32_t>(Verb::Replace)},
    {"delete", static_cast<uint32_t>(Verb::Delete)}, {"destroy", static_cast<uint32_t>(Verb::Destroy)},
    {"flush", static_cast<uint32_t>(Verb::Flush)},   {"check", static_cast<uint32_t>(Verb::Check)}};

// The flags of a NEW message for Add and Create.
uint16_t NewFlags(Verb verb);
// Message numbers newer than the headers we build with (kernel 6.3).
inline constexpr uint16_t kDestroyTable = 26, kDestroyChain = 27, kDestroyRule = 28, kDestroySet = 29, kDestroyElement = 30;

inline constexpr Name kTableFlags[] = {{"dormant", NFT_TABLE_F_DORMANT}, {"owner", NFT_TABLE_F_OWNER}};

struct Table {
  static constexpr std::string_view kKind = "table";
  static constexpr uint16_t kGet = NFT_MSG_GETTABLE;
  Opt<uint8_t> family;
  Opt<std::string> name, comment;
  Opt<WordFlags<kTableFlags>> flags;
  Opt<Be64> handle;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kNftFamilies);
    c("name", NFTA_TABLE_NAME, name);
    c("flags", NFTA_TABLE_FLAGS, flags);
    c("handle", NFTA_TABLE_HANDLE, handle);
    c.Plain("comment", comment);
  }
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Table Decode(const MessageView& message);
};

inline constexpr Name kPolicies[] = {{"drop", NF_DROP}, {"accept", NF_ACCEPT}};

struct Chain {
  static constexpr std::string_view kKind = "chain";
  static constexpr uint16_t kGet = NFT_MSG_GETCHAIN;
  Opt<uint8_t> family;
  Opt<std::string> table, name, type, comment, hook;
  Opt<int32_t> priority;
  Opt<Be32> policy;
  Opt<std::vector<std::string>> devices;
  Opt<Be64> handle;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kNftFamilies);
    c("table", NFTA_CHAIN_TABLE, table);
    c("name", NFTA_CHAIN_NAME, name);
    c("type", NFTA_CHAIN_TYPE, type);
    c.Plain("hook", hook);
    c.Plain("priority", priority);
    c.Plain("devices", devices);
    c.Named("policy", NFTA_CHAIN_POLICY, policy, kPolicies);
    c("handle", NFTA_CHAIN_HANDLE, handle);
    c.Plain("comment", comment);
  }
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Chain Decode(const MessageView& message);
};

struct Rule {
  static constexpr std::string_view kKind = "rule";
  static constexpr uint16_t kGet = NFT_MSG_GETRULE;
  Opt<uint8_t> family;
  Opt<std::string> table, chain, comment;
  Opt<Be64> handle, before, after;
  Opt<uint8_t> protocol;  // what xtables' matches and targets are told to be used for; the kernel does not tell it back
  Opt<Expressions> expressions;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kNftFamilies);
    c("table", NFTA_RULE_TABLE, table);
    c("chain", NFTA_RULE_CHAIN, chain);
    c("handle", NFTA_RULE_HANDLE, handle);
    c.Plain("before", before);
    c.Plain("after", after);
    c.Plain("protocol", protocol);
    c("expressions", NFTA_RULE_EXPRESSIONS, expressions);
    c.Plain("comment", comment);
  }
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Rule Decode(const MessageView& message);
};

// Everything, or everything of one family: only flushed.
struct Ruleset {
  static constexpr std::string_view kKind = "ruleset";
  Opt<uint8_t> family;

  template <class C>
  void Describe(C& c) {
    c.PlainNamed("family", family, kNftFamilies);
  }
  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
};

// The generation the batch was computed for: the kernel refuses the batch with ERESTART if the ruleset has moved on.
struct Generation {
  static constexpr std::string_view kKind = "generation";
  Opt<uint32_t> generation;

  template <class C>
  void Describe(C& c) {
    c.Plain("generation", generation);
  }
  void Check(Verb verb) const;
  void Encode(Batch&, Verb, size_t) {}
};

// InputError unless the verb is one of these.
void Allow(Verb verb, std::initializer_list<Verb> verbs, std::string_view kind);

}  // namespace trellis::netlink::nft
