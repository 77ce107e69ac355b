#include "netlink/nftables/family.h"

#include <linux/netfilter/nfnetlink.h>

#include <cerrno>

#include "base/error.h"

namespace trellis::netlink {

using namespace nft;

namespace {

struct Kind {
  std::string_view word;
  NftObject (*make)();
};
constexpr Kind kKinds[] = {
    {Table::kKind, [] { return NftObject(Table{}); }},          {Chain::kKind, [] { return NftObject(Chain{}); }},
    {nft::Rule::kKind, [] { return NftObject(nft::Rule{}); }},  {Set::kKind, [] { return NftObject(Set{}); }},
    {Elements::kKind, [] { return NftObject(Elements{}); }},    {Ruleset::kKind, [] { return NftObject(Ruleset{}); }},
    {Generation::kKind, [] { return NftObject(Generation{}); }}};

std::string_view KindWord(const json::Value& request) {
  const json::Value* word = request.Find("kind");
  if (word != nullptr && word->IsString())
    for (const Kind& kind : kKinds)
      if (kind.word == word->string()) return kind.word;
  throw InputError("field 'kind' must be one of table, chain, rule, set, element, ruleset, generation");
}

NftObject Make(std::string_view word) {
  for (const Kind& kind : kKinds)
    if (kind.word == word) return kind.make();
  return {};
}

template <class T>
void WriteObject(T object, json::Writer& to) {
  to.BeginObject();
  to.Key("kind");
  to.String(T::kKind);
  ToJson visitor(to);
  object.Describe(visitor);
  to.EndObject();
}

// What a query may narrow a list by.
struct Filter {
  Opt<uint8_t> family;
  Opt<std::string> table, chain, set, name;

  static bool Fits(const Opt<std::string>& wanted, const Opt<std::string>& found) { return !wanted || wanted == found; }
  bool Fits(const Table& one) const { return Fits(name, one.name); }
  bool Fits(const Chain& one) const { return Fits(table, one.table) && Fits(name, one.name); }
  bool Fits(const nft::Rule& one) const { return Fits(table, one.table) && Fits(chain, one.chain); }
  bool Fits(const Set& one) const { return Fits(table, one.table) && Fits(name, one.name); }
};

template <class T>
void List(Socket& socket, const Filter& filter, ObjectSink& sink) {
  Batch batch;
  BeginMessage(batch, T::kGet, NLM_F_DUMP, filter.family.value_or(NFPROTO_UNSPEC), 0);
  if constexpr (std::is_same_v<T, nft::Rule>) {
    // The kernel filters rules itself; of the others it tells all.
    if (filter.table) batch.PutString(NFTA_RULE_TABLE, *filter.table);
    if (filter.table && filter.chain) batch.PutString(NFTA_RULE_CHAIN, *filter.chain);
  }
  batch.End();
  for (const auto& datagram : socket.Dump(batch, "list " + std::string(T::kKind) + "s"))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (message.header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) return;
      T object = T::Decode(message);
      if (filter.Fits(object)) sink.Add([&](json::Writer& to) { WriteObject(std::move(object), to); });
    });
}

void PutTransactionMessage(Batch& batch, uint16_t type, const Opt<uint32_t>& generation) {
  batch.Begin(type, 0, kTransaction);
  batch.Header(nfgenmsg{NFPROTO_UNSPEC, NFNETLINK_V0, htobe16(NFNL_SUBSYS_NFTABLES)});
  if (generation) batch.PutValue(NFNL_BATCH_GENID, htobe32(*generation));
  batch.End();
}

}  // namespace

void BeginTransaction(Batch& batch, const Opt<uint32_t>& generation) {
  PutTransactionMessage(batch, NFNL_MSG_BATCH_BEGIN, generation);
}

void EndTransaction(Batch& batch) { PutTransactionMessage(batch, NFNL_MSG_BATCH_END, std::nullopt); }

NftRequest NftRequest::Read(const json::Value& request) {
  FromJson from(request);
  from.Take("kind");
  const json::Value* verb = from.Take("do");
  NftObject object = Make(KindWord(request));
  if (verb == nullptr) throw InputError("field 'do' must be one of " + ListWords(nft::kVerbs));
  NftRequest read{static_cast<nft::Verb>(ReadWord(*verb, "do", nft::kVerbs, static_cast<uint32_t>(nft::Verb::Check))),
                  std::move(object)};
  Opt<bool> emulate;
  if (read.verb == nft::Verb::Destroy) from.Plain("emulate", emulate);
  read.emulate = emulate.value_or(false);
  std::visit(
      [&](auto& one) {
        one.Describe(from);
        from.Finish();
        one.Check(read.verb);
      },
      read.object);
  return read;
}

bool WriteNftObject(const MessageView& message, json::Writer& to) {
  if (message.header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) return false;
  switch (message.header.nlmsg_type & 0xFF) {
    case NFT_MSG_NEWTABLE:
    case NFT_MSG_DELTABLE:
      return WriteObject(Table::Decode(message), to), true;
    case NFT_MSG_NEWCHAIN:
    case NFT_MSG_DELCHAIN:
      return WriteObject(Chain::Decode(message), to), true;
    case NFT_MSG_NEWRULE:
    case NFT_MSG_DELRULE:
      return WriteObject(nft::Rule::Decode(message), to), true;
    case NFT_MSG_NEWSET:
    case NFT_MSG_DELSET:
      return WriteObject(Set::Decode(message), to), true;
    default:
      return false;
  }
}

std::vector<Refusal> NftFamily::Apply(const Requests& requests) {
  std::vector<NftRequest> read;
  read.reserve(requests.size());
  Opt<uint32_t> generation;
  size_t generationIndex = 0;
  Batch batch;
  for (size_t i = 0; i < requests.size(); ++i) {
    try {
      read.push_back(NftRequest::Read(*requests[i]));
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
    if (const auto* check = std::get_if<Generation>(&read.back().object)) {
      generation = check->generation;
      generationIndex = i;
    }
  }
  if (auto missing = FindRules(read); !missing.empty()) return missing;
  BeginTransaction(batch, generation);
  for (size_t i = 0; i < read.size(); ++i) {
    NftRequest& request = read[i];
    try {
      std::visit(
          [&](auto& object) {
            if (request.verb == nft::Verb::Destroy && (request.emulate || !KnowsDestroy())) Destroy(std::move(object), i, batch);
            else object.Encode(batch, request.verb, i);
          },
          request.object);
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
    request.object = Generation{};  // what is encoded need not be kept
  }
  EndTransaction(batch);
  return Commit(batch, generation, generationIndex);
}

std::vector<Refusal> NftFamily::Commit(Batch& batch, const Opt<uint32_t>& generation, size_t generationIndex) {
  std::vector<Refusal> refusals;
  if (batch.messages().size() == 2) {  // only the frame, to which kernels before 6.9 give no answer
    if (generation && CurrentGeneration() != *generation)
      refusals.push_back({generationIndex, ERESTART, "the ruleset is no longer at generation " + std::to_string(*generation)});
    return refusals;
  }
  for (Failure& failure : socket_.Commit(batch)) {
    if (failure.owner != kTransaction) {
      // A list of elements may be several messages; once is enough.
      if (!refusals.empty() && refusals.back().index == failure.owner) continue;
      refusals.push_back({failure.owner, failure.error, std::move(failure.text)});
    } else if (failure.error == ERESTART && generation) {
      refusals.push_back({generationIndex, ERESTART, "the ruleset is no longer at generation " + std::to_string(*generation)});
    } else {
      throw KernelError(failure.error, "commit the nf_tables transaction", failure.text);
    }
  }
  return refusals;
}

bool NftFamily::Get(Batch& batch, const std::string& operation, const Socket::OnMessage& onReply) {
  const auto failures = socket_.Exchange(batch, onReply);
  if (failures.empty()) return true;
  if (failures[0].error == ENOENT) return false;
  throw KernelError(failures[0].error, operation, failures[0].text);
}

uint32_t NftFamily::CurrentGeneration() {
  Batch batch;
  BeginMessage(batch, NFT_MSG_GETGEN, 0, NFPROTO_UNSPEC, 0);
  batch.End();
  uint32_t generation = 0;
  Get(batch, "get the ruleset's generation", [&](const MessageView& message) {
    generation = be32toh(ReadValue<uint32_t>(AttributeTable(message.Attributes<nfgenmsg>()).Get(NFTA_GEN_ID)));
  });
  return generation;
}

Opt<std::vector<Element>> NftFamily::ListElements(uint8_t family, const std::string& table, const std::string& set) {
  const std::string operation = "list elements of " + table + " " + set;
  Batch batch;
  BeginMessage(batch, NFT_MSG_GETSET, 0, family, 0);
  batch.PutString(NFTA_SET_TABLE, table);
  batch.PutString(NFTA_SET_NAME, set);
  batch.End();
  Set of;
  if (!Get(batch, operation, [&](const MessageView& message) { of = Set::Decode(message); })) return std::nullopt;
  BeginMessage(batch, NFT_MSG_GETSETELEM, NLM_F_DUMP, family, 0);
  batch.PutString(NFTA_SET_ELEM_LIST_TABLE, table);
  batch.PutString(NFTA_SET_ELEM_LIST_SET, set);
  batch.End();
  std::vector<RawElement> raw;
  for (const auto& datagram : socket_.Dump(batch, operation))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (message.header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) return;
      auto some = DecodeElements(message);
      std::move(some.begin(), some.end(), std::back_inserter(raw));
    });
  return Assemble(std::move(raw), of);
}

void NftFamily::Query(const json::Value& query, ObjectSink& sink) {
  const std::string_view kind = KindWord(query);
  FromJson from(query);
  from.Take("kind");
  Filter filter;
  from.PlainNamed("family", filter.family, kNftFamilies);
  if (kind != Table::kKind) from.Plain("table", filter.table);
  if (kind == nft::Rule::kKind) from.Plain("chain", filter.chain);
  else if (kind == Elements::kKind) from.Plain("set", filter.set);
  else from.Plain("name", filter.name);
  from.Finish();
  if (kind == Table::kKind) return List<Table>(socket_, filter, sink);
  if (kind == Chain::kKind) return List<Chain>(socket_, filter, sink);
  if (kind == nft::Rule::kKind) return List<nft::Rule>(socket_, filter, sink);
  if (kind == Set::kKind) return List<Set>(socket_, filter, sink);
  if (kind == Generation::kKind) return sink.Add([&](json::Writer& to) { WriteObject(Generation{CurrentGeneration()}, to); });
  Need(kind == Elements::kKind, "a ruleset is listed kind by kind");
  Need(filter.family && filter.table && filter.set, "elements are listed by family, table and set");
  auto elements = ListElements(*filter.family, *filter.table, *filter.set);
  if (!elements) throw KernelError(ENOENT, "list elements of " + *filter.table + " " + *filter.set);
  for (Element& element : *elements) sink.Add([&](json::Writer& to) { ToJson(to).Object(element); });
}

}  // namespace trellis::netlink
