// "Delete, or do not mind if it is not there", on kernels that cannot say so (before 6.3).
// Tables and chains are added first, which leaves those that exist alone; of the rest we look which exist. So what an
// earlier request of the same batch makes, a later one destroys only if it is a table or a chain.
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "base/error.h"
#include "netlink/nftables/family.h"

namespace trellis::netlink {

using namespace nft;

bool NftFamily::KnowsDestroy() {
  if (knowsDestroy_) return *knowsDestroy_;
  // Destroying what surely is not there changes nothing, not even the generation.
  Batch batch;
  BeginTransaction(batch, std::nullopt);
  Table probe;
  probe.family = NFPROTO_IPV4;
  probe.name = "trellis-probe-7f3a91";
  probe.Encode(batch, nft::Verb::Destroy, 0);
  EndTransaction(batch);
  const auto failures = socket_.Commit(batch);
  // Before the first table is made the kernel may not have the subsystem loaded; that is no answer to the question.
  for (const Failure& failure : failures)
    if (failure.owner == kTransaction) throw KernelError(failure.error, "ask the kernel for nf_tables", failure.text);
  knowsDestroy_ = failures.empty();
  return *knowsDestroy_;
}

void NftFamily::Destroy(Table object, size_t index, Batch& batch) {
  Table bare;
  bare.family = object.family;
  bare.name = object.name;
  bare.Encode(batch, nft::Verb::Add, index);
  bare.Encode(batch, nft::Verb::Delete, index);
}

void NftFamily::Destroy(Chain object, size_t index, Batch& batch) {
  Chain bare;
  bare.family = object.family;
  bare.table = object.table;
  bare.name = object.name;
  bare.Encode(batch, nft::Verb::Add, index);
  bare.Encode(batch, nft::Verb::Delete, index);
}

void NftFamily::Destroy(nft::Rule object, size_t index, Batch& batch) {
  Batch question;
  BeginMessage(question, NFT_MSG_GETRULE, 0, *object.family, 0);
  question.PutString(NFTA_RULE_TABLE, *object.table);
  question.PutString(NFTA_RULE_CHAIN, *object.chain);
  PutAttribute(question, NFTA_RULE_HANDLE, *object.handle);
  question.End();
  if (Get(question, "look for a rule")) object.Encode(batch, nft::Verb::Delete, index);
}

void NftFamily::Destroy(Set object, size_t index, Batch& batch) {
  Batch question;
  BeginMessage(question, NFT_MSG_GETSET, 0, *object.family, 0);
  question.PutString(NFTA_SET_TABLE, *object.table);
  question.PutString(NFTA_SET_NAME, *object.name);
  question.End();
  if (Get(question, "look for a set")) object.Encode(batch, nft::Verb::Delete, index);
}

void NftFamily::Destroy(Elements object, size_t index, Batch& batch) {
  const auto present = ListElements(*object.family, *object.table, *object.set);
  std::unordered_set<std::string> keys;
  if (present)
    for (const Element& element : *present) keys.insert(*element.key);
  object.Keep([&](const std::string& key) { return keys.contains(key); });
  if (!object.elements.empty()) object.Encode(batch, nft::Verb::Delete, index);
}

}  // namespace trellis::netlink
