// The nf_tables family: tables, chains, rules, sets and elements of one namespace.
// Guarantees: a list of requests is one transaction: the kernel does all of it or none, and every refused request is told.
#pragma once
#include <string>
#include <variant>

#include "netlink/nftables/element.h"
#include "netlink/socket.h"
#include "session/family.h"

namespace trellis::netlink {

using NftObject = std::variant<nft::Table, nft::Chain, nft::Rule, nft::Set, nft::Elements, nft::Ruleset, nft::Generation>;

struct NftRequest {
  nft::Verb verb;
  NftObject object;
  bool emulate = false;  // do a destroy as on a kernel that has none, which is how tests reach that path

  // Reads and checks it; InputError names the field.
  static NftRequest Read(const json::Value& request);
};

// Writes what a NEW or DEL message of nf_tables tells of, as {"kind": ..., ...}; false for other messages. Elements are
// not: without their set the message does not tell their types.
bool WriteNftObject(const MessageView& message, json::Writer& to);

class NftFamily : public Family {
 public:
  explicit NftFamily(const NetNs& ns) : socket_(NETLINK_NETFILTER, ns) {}
  std::vector<Refusal> Apply(const Requests& requests) override;
  void Query(const json::Value& query, ObjectSink& sink) override;

 private:
  // The elements of a set with the set itself; nothing when there is no such set.
  Opt<std::vector<nft::Element>> ListElements(uint8_t family, const std::string& table, const std::string& set);
  // Sends one GET and hands its answer on; false when there is no such thing.
  bool Get(Batch& batch, const std::string& operation, const Socket::OnMessage& onReply = {});
  uint32_t CurrentGeneration();
  // find.cc: gives every rule to be deleted that is told by its expressions its handle; the refusals of those not found.
  std::vector<Refusal> FindRules(std::vector<NftRequest>& requests);
  std::vector<Refusal> Commit(Batch& batch, const Opt<uint32_t>& generation, size_t generationIndex);

  // destroy.cc: kernels before 6.3 have no "delete, or do not mind".
  bool KnowsDestroy();
  void Destroy(nft::Table object, size_t index, Batch& batch);
  void Destroy(nft::Chain object, size_t index, Batch& batch);
  void Destroy(nft::Rule object, size_t index, Batch& batch);
  void Destroy(nft::Set object, size_t index, Batch& batch);
  void Destroy(nft::Elements object, size_t index, Batch& batch);
  void Destroy(const nft::Ruleset&, size_t, Batch&) {}
  void Destroy(const nft::Generation&, size_t, Batch&) {}

  Socket socket_;
  Opt<bool> knowsDestroy_;
};

// The messages around a transaction; they belong to no request but to kTransaction.
inline constexpr size_t kTransaction = SIZE_MAX;
void BeginTransaction(Batch& batch, const Opt<uint32_t>& generation);
void EndTransaction(Batch& batch);

}  // namespace trellis::netlink
