#include "netlink/route/family.h"

#include <sys/socket.h>

#include "base/error.h"

namespace trellis::netlink {

namespace {

// Kinds by word, with the type of their GET request.
struct Kind {
  std::string_view word;
  uint16_t get;
  RouteObject (*make)();
};

RouteObject MakeClass() {
  Qdisc made;
  made.isClass = true;
  return made;
}

constexpr Kind kKinds[] = {
    {"link", RTM_GETLINK, [] { return RouteObject(Link{}); }},
    {"address", RTM_GETADDR, [] { return RouteObject(Address{}); }},
    {"route", RTM_GETROUTE, [] { return RouteObject(Route{}); }},
    {"rule", RTM_GETRULE, [] { return RouteObject(Rule{}); }},
    {"neighbour", RTM_GETNEIGH, [] { return RouteObject(Neighbour{}); }},
    {"qdisc", RTM_GETQDISC, [] { return RouteObject(Qdisc{}); }},
    {"class", RTM_GETTCLASS, MakeClass},
};

const Kind& KindOf(const json::Value& request) {
  const json::Value* word = request.Find("kind");
  if (word != nullptr && word->IsString())
    for (const Kind& kind : kKinds)
      if (kind.word == word->string()) return kind;
  throw InputError("field 'kind' must be one of link, address, route, rule, neighbour, qdisc, class");
}

int FamilyOf(const json::Value& query) {
  const json::Value* word = query.Find("family");
  if (word == nullptr || word->IsNull()) return AF_UNSPEC;
  return static_cast<int>(ReadWord(*word, "family", kFamilies, 255));
}

template <class T>
void WriteObject(T object, std::string_view kind, json::Writer& to) {
  to.BeginObject();
  to.Key("kind");
  to.String(kind);
  ToJson visitor(to);
  object.Describe(visitor);
  to.EndObject();
}

}  // namespace

RouteRequest RouteRequest::Read(const json::Value& request) {
  FromJson from(request);
  from.Take("kind");
  from.Take("missingOk");
  from.Take("existsOk");
  const json::Value* verb = from.Take("do");
  if (verb == nullptr) throw InputError("field 'do' must be one of " + ListWords(kVerbs));
  RouteRequest read{static_cast<Verb>(ReadWord(*verb, "do", kVerbs, 3)), KindOf(request).make()};
  std::visit(
      [&](auto& object) {
        object.Describe(from);
        from.Finish();
        object.Check(read.verb);
      },
      read.object);
  return read;
}

bool WriteRouteObject(const MessageView& message, json::Writer& to) {
  switch (message.header.nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
      return WriteObject(Link::Decode(message), "link", to), true;
    case RTM_NEWADDR:
    case RTM_DELADDR:
      return WriteObject(Address::Decode(message), "address", to), true;
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
      return WriteObject(Route::Decode(message), "route", to), true;
    case RTM_NEWRULE:
    case RTM_DELRULE:
      return WriteObject(Rule::Decode(message), "rule", to), true;
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
      return WriteObject(Neighbour::Decode(message), "neighbour", to), true;
    case RTM_NEWQDISC:
    case RTM_DELQDISC:
      return WriteObject(Qdisc::Decode(message), "qdisc", to), true;
    case RTM_NEWTCLASS:
    case RTM_DELTCLASS:
      return WriteObject(Qdisc::Decode(message), "class", to), true;
    default:
      return false;
  }
}

// Reads every request twice: once to refuse nonsense before the first message leaves, once to send it. Keeping a million
// read requests would cost a gigabyte; reading one again costs a microsecond.
std::vector<Refusal> RouteFamily::Apply(const Requests& requests) {
  for (size_t i = 0; i < requests.size(); ++i) {
    try {
      RouteRequest::Read(*requests[i]);
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
  }
  RouteBatch batch(client_);
  for (size_t i = 0; i < requests.size(); ++i) batch.Do(RouteRequest::Read(*requests[i]), i);
  std::vector<Refusal> refusals;
  for (Failure& failure : batch.Finish()) refusals.push_back({failure.owner, failure.error, std::move(failure.text)});
  return refusals;
}

void RouteFamily::Query(const json::Value& query, ObjectSink& sink) {
  const Kind& kind = KindOf(query);
  FromJson from(query);
  for (const auto known : {"kind", "family"}) from.Take(known);
  Opt<std::string> name;
  Opt<LinkRef> dev;
  Opt<uint32_t> table;
  from.Plain("name", name);
  from.Plain("dev", dev);
  from.PlainNamed("table", table, kRouteTables);
  from.Finish();
  const auto add = [&](const MessageView& message) { sink.Add([&](json::Writer& to) { WriteRouteObject(message, to); }); };
  if (name) {
    if (kind.get != RTM_GETLINK) ThrowField("name", "goes with links only");
    return client_.GetLink(*name, add);
  }
  if (kind.get == RTM_GETTCLASS && !dev) throw InputError("say of which link (dev) the classes are asked for");
  if (dev && !dev->name.empty()) dev->index = client_.LinkIndex(dev->name);
  client_.List(kind.get, {FamilyOf(query), dev ? dev->index : 0, table.value_or(0)}, add);
}

}  // namespace trellis::netlink
