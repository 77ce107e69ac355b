#include "netlink/nftables/expression.h"

namespace trellis::netlink::nft {

namespace {

// The kernel takes at most 128 expressions a rule (NFT_RULE_MAXEXPRS).
constexpr size_t kMaxExpressions = 128;

// Makes the alternative of that name; false if there is none.
template <size_t I = 0>
bool Make(std::string_view name, Expression& to) {
  if constexpr (I == std::variant_size_v<Expression>) {
    return false;
  } else {
    if (std::variant_alternative_t<I, Expression>::kName != name) return Make<I + 1>(name, to);
    to.emplace<I>();
    return true;
  }
}

template <size_t I = 0>
void ListKinds(std::string& list) {
  if constexpr (I < std::variant_size_v<Expression> - 1) {  // without "other"
    if (I > 0) list.append(", ");
    list.append(std::variant_alternative_t<I, Expression>::kName);
    ListKinds<I + 1>(list);
  }
}

void Decode(const AttributeTable& data, Immediate& to) {
  FromAttributes from(data);
  const AttributeTable inner(data.Get(NFTA_IMMEDIATE_DATA));
  if (inner.Has(NFTA_DATA_VERDICT)) {
    from("verdict", NFTA_IMMEDIATE_DATA, to.verdict);
  } else {
    from("dreg", NFTA_IMMEDIATE_DREG, to.dreg);
    from("value", NFTA_IMMEDIATE_DATA, to.value);
  }
}

template <class T>
void Decode(const AttributeTable& data, T& to) {
  FromAttributes from(data);
  to.Describe(from);
}

void Encode(Batch& batch, Immediate immediate) {
  // The verdict register is number 0.
  if (immediate.verdict) immediate.dreg = Be32{NFT_REG_VERDICT};
  ToAttributes to(batch);
  immediate.Describe(to);
}

void Encode(Batch& batch, Masq masq) {
  // Unlike nat and redir, masq ignores its ports unless this flag says that they are there.
  if (masq.sregProtoMin) {
    if (!masq.flags) masq.flags.emplace();
    masq.flags->value |= NF_NAT_RANGE_PROTO_SPECIFIED;
  }
  ToAttributes to(batch);
  masq.Describe(to);
}

template <class T>
void Encode(Batch& batch, T expression) {
  if constexpr (std::is_base_of_v<XtExtension, T>) expression.Fill();
  ToAttributes to(batch);
  expression.Describe(to);
}

}  // namespace

void ReadJson(const json::Value& from, std::string_view name, Expression& to) {
  if (!from.IsObject() || from.members().size() != 1)
    ThrowField(name, "must hold objects of one member, like {\"payload\":{...}}");
  const json::Member member = *from.members().begin();
  const std::string_view kind = member.first;
  const json::Value& fields = member.second;
  if (!Make(kind, to)) {
    std::string known;
    ListKinds(known);
    ThrowField(name, "knows no expression '" + std::string(kind) + "'; it knows " + known);
  }
  if (!fields.IsObject()) ThrowField(kind, "must be an object");
  std::visit(
      [&](auto& expression) {
        FromJson reader(fields);
        expression.Describe(reader);
        reader.Finish();
        expression.Check();
      },
      to);
}

void WriteJson(json::Writer& to, const Expression& from) {
  std::visit(
      [&](auto expression) {
        to.BeginObject();
        to.Key(expression.kName);
        ToJson(to).Object(expression);
        to.EndObject();
      },
      from);
}

void PutAttribute(Batch& to, uint16_t type, const Expressions& from) {
  if (from.size() > kMaxExpressions) throw InputError("a rule holds at most 128 expressions");
  const size_t list = to.BeginNest(type);
  for (const Expression& expression : from) {
    const size_t item = to.BeginNest(NFTA_LIST_ELEM);
    std::visit(
        [&](const auto& one) {
          to.PutString(NFTA_EXPR_NAME, one.kName);
          const size_t data = to.BeginNest(NFTA_EXPR_DATA);
          Encode(to, one);
          to.EndNest(data);
        },
        expression);
    to.EndNest(item);
  }
  to.EndNest(list);
}

void GetAttribute(Bytes from, Expressions& to) {
  ForEachAttribute(from, [&](const Attribute& item) {
    if (item.type != NFTA_LIST_ELEM) return;
    const AttributeTable table(item.data);
    const std::string_view name = ReadString(table.Get(NFTA_EXPR_NAME));
    Expression& expression = to.emplace_back();
    if (name == Other::kName || !Make(name, expression)) {
      expression.emplace<Other>().name = std::string(name);
      return;
    }
    std::visit(
        [&](auto& one) {
          Decode(AttributeTable(table.Get(NFTA_EXPR_DATA)), one);
          one.Tidy();
        },
        expression);
  });
}

std::string Fingerprint(const Expressions& expressions) {
  json::Writer writer;
  for (Expression expression : expressions) {
    if (auto* counter = std::get_if<Counter>(&expression)) *counter = {};
    if (auto* match = std::get_if<Match>(&expression)) match->Fill(), match->Tidy();
    if (auto* target = std::get_if<Target>(&expression)) target->Fill(), target->Tidy();
    WriteJson(writer, expression);
  }
  return writer.Take();
}

}  // namespace trellis::netlink::nft
