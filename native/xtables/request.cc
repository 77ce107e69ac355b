#include "xtables/request.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/netfilter.h>
#include <linux/netfilter/x_tables.h>

#include "base/error.h"

namespace trellis::xtables {

namespace {

// The longest struct that we write has 296 bytes (sctp's).
constexpr int64_t kMaxInfo = 4096;

const json::Value& Field(const json::Value& from, std::string_view name) {
  const json::Value* value = from.IsObject() ? from.Find(name) : nullptr;
  if (value == nullptr) throw InputError("field '" + std::string(name) + "' is missing");
  return *value;
}

json::Items ListOf(const json::Value& from, std::string_view name) {
  const json::Value& value = Field(from, name);
  if (!value.IsArray()) throw InputError("field '" + std::string(name) + "' must be a list");
  return value.items();
}

int64_t NumberOf(const json::Value& from, std::string_view name, int64_t most) {
  const json::Value& value = Field(from, name);
  if (!value.IsInteger() || value.integer() < 0 || value.integer() > most)
    throw InputError("field '" + std::string(name) + "' must be a number from 0 to " + std::to_string(most));
  return value.integer();
}

std::string BytesOf(const json::Value& from, std::string_view name) {
  auto bytes = FromHex(TextOf(from, name));
  if (!bytes) throw InputError("field '" + std::string(name) + "' must be bytes in hexadecimal");
  return *std::move(bytes);
}

std::string ReadExtension(const json::Value& from) {
  std::string info = BytesOf(from, "info");
  const auto length = static_cast<size_t>(NumberOf(from, "length", kMaxInfo));
  if (info.size() > length) throw InputError("an extension's info must fit its length");
  info.resize(length, '\0');
  return Extension(TextOf(from, "name"), static_cast<uint8_t>(NumberOf(from, "revision", UINT8_MAX)), std::move(info));
}

int32_t ReadVerdict(std::string_view word) {
  if (word == "accept") return -NF_ACCEPT - 1;
  if (word == "drop") return -NF_DROP - 1;
  if (word == "return") return XT_RETURN;
  throw InputError("field 'verdict' must be accept, drop or return");
}

NewRule ReadRule(const json::Value& from, const Layout& layout) {
  std::string matches;
  for (const json::Value& match : ListOf(from, "matches")) matches += ReadExtension(match);
  NewRule rule;
  std::string target;
  if (from.Find("jump") != nullptr) {
    rule.jump = TextOf(from, "jump");
    if (rule.jump.empty()) throw InputError("field 'jump' must name a chain");
    target = StandardTarget(0);  // the place of a chain is known when the table is written
  } else if (from.Find("verdict") != nullptr) {
    target = StandardTarget(ReadVerdict(TextOf(from, "verdict")));
  } else {
    target = ReadExtension(Field(from, "target"));
  }
  rule.bytes = Entry(layout, BytesOf(from, "head"), matches, target);
  return rule;
}

Verb ReadVerb(std::string_view word) {
  if (word == "declare") return Verb::Declare;
  if (word == "append") return Verb::Append;
  if (word == "insert") return Verb::Insert;
  if (word == "delete") return Verb::Delete;
  if (word == "remove") return Verb::Remove;
  throw InputError("a step must declare, append, insert, delete or remove");
}

bool HasRule(Verb verb) { return verb == Verb::Append || verb == Verb::Insert || verb == Verb::Delete; }

}  // namespace

const Layout& LayoutOf(int domain) { return domain == AF_INET ? kIpv4 : kIpv6; }

std::string_view TextOf(const json::Value& from, std::string_view field) {
  const json::Value& value = Field(from, field);
  if (!value.IsString()) throw InputError("field '" + std::string(field) + "' must be text");
  return value.string();
}

int DomainOf(const json::Value& from) {
  const std::string_view family = TextOf(from, "family");
  if (family != "ip" && family != "ip6") throw InputError("field 'family' must be ip or ip6");
  return family == "ip" ? AF_INET : AF_INET6;
}

std::string TableOf(const json::Value& from) {
  const std::string_view name = TextOf(from, "name");
  if (name.empty() || name.size() >= XT_TABLE_MAXNAMELEN || name.find('\0') != std::string_view::npos)
    throw InputError("field 'name' must be 1 to 31 bytes long");
  return std::string(name);
}

Request Request::Read(const json::Value& from) {
  if (TextOf(from, "do") != "change" || TextOf(from, "kind") != "table") throw InputError("a legacy table can only be changed");
  Request request{DomainOf(from), TableOf(from), std::string(TextOf(from, "lock")), {}};
  const auto& steps = ListOf(from, "steps");
  request.steps.reserve(steps.size());
  for (const json::Value& step : steps) {
    const Verb verb = ReadVerb(TextOf(step, "do"));
    request.steps.push_back({verb, std::string(TextOf(step, "chain")), {}});
    if (HasRule(verb)) request.steps.back().rule = ReadRule(Field(step, "rule"), LayoutOf(request.domain));
  }
  return request;
}

void Change(Table& table, const Request& request) {
  for (const Step& step : request.steps) {
    switch (step.verb) {
      case Verb::Declare:
        table.Declare(step.chain);
        break;
      case Verb::Append:
        table.Append(step.chain, step.rule);
        break;
      case Verb::Insert:
        table.Insert(step.chain, step.rule);
        break;
      case Verb::Delete:
        table.Delete(step.chain, step.rule);
        break;
      case Verb::Remove:
        table.Remove(step.chain);
        break;
    }
  }
}

}  // namespace trellis::xtables
