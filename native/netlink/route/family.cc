#include "netlink/route/family.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/error.h"

namespace trellis::netlink {

namespace {

// What may wait before it is sent: enough for full datagrams, little enough to bound memory.
constexpr size_t kFlushSize = 1024 * 1024;
// Namespaces held open until their messages are sent; a process may have as few as 1024 descriptors.
constexpr size_t kFlushNamespaces = 128;

// Kinds by word, with the type of their dump request.
struct Kind {
  std::string_view word;
  uint16_t dump;
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
      if (kind.word == word->string) return kind;
  throw InputError("field 'kind' must be one of link, address, route, rule, neighbour, qdisc, class");
}

// One pass over a batch: what waits to be sent, what is known of names, what was refused.
class Run {
 public:
  Run(Socket& socket, RouteFamily& family) : socket_(socket), family_(family) {}

  void Do(RouteRequest request, size_t index) {
    try {
      std::visit([&](auto& object) { Encode(object, request.verb, index); }, request.object);
    } catch (const KernelError& error) {
      refusals_.push_back({index, error.error(), error.text().empty() ? error.operation() : error.text()});
    }
  }

  std::vector<Refusal> Finish() {
    Flush();
    return std::move(refusals_);
  }

 private:
  template <class T>
  void Encode(T& object, Verb verb, size_t index) {
    ResolveLinks resolve([this](const std::string& name) { return Resolve(name); });
    object.Describe(resolve);
    if constexpr (std::is_same_v<T, Link>) PrepareLink(object, verb);
    if (batch_.size() >= kFlushSize || batch_.kept() >= kFlushNamespaces) Flush();
    const size_t before = batch_.messages().size();
    try {
      object.Encode(batch_, verb, index);
    } catch (...) {
      while (batch_.messages().size() > before) batch_.Abandon();
      throw;
    }
  }

  // Names may mean another link from here on.
  void PrepareLink(Link& link, Verb verb) {
    if (link.newName && !link.index) link.index = Resolve(*link.name);
    if (verb != Verb::Change || link.newName || link.netns) indexes_.clear();
  }

  uint32_t Resolve(const std::string& name) {
    const auto known = indexes_.find(name);
    if (known != indexes_.end()) return known->second;
    Flush();  // the link may be one that this batch makes
    const uint32_t index = family_.LinkIndex(name);
    indexes_[name] = index;
    return index;
  }

  void Flush() {
    if (batch_.empty()) return;
    for (Failure& failure : socket_.Exchange(batch_)) {
      // A link whose creation failed fails again at its port options; once is enough.
      if (!refusals_.empty() && refusals_.back().index == failure.owner) continue;
      refusals_.push_back({failure.owner, failure.error, std::move(failure.text)});
    }
  }

  Socket& socket_;
  RouteFamily& family_;
  Batch batch_;
  std::unordered_map<std::string, uint32_t> indexes_;
  std::vector<Refusal> refusals_;
};

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

// Builds the dump request. With strict checking on the socket, what stands in the header filters in the kernel.
void PutDumpHeader(Batch& batch, const Kind& kind, int family, uint32_t dev, uint32_t table) {
  batch.Begin(kind.dump, NLM_F_DUMP);
  switch (kind.dump) {
    case RTM_GETLINK:
      batch.Header(ifinfomsg{.ifi_family = AF_UNSPEC, .__ifi_pad = 0, .ifi_type = 0, .ifi_index = 0, .ifi_flags = 0, .ifi_change = 0});
      break;
    case RTM_GETADDR:
      batch.Header(ifaddrmsg{static_cast<uint8_t>(family), 0, 0, 0, dev});
      break;
    case RTM_GETROUTE: {
      rtmsg head{};
      head.rtm_family = static_cast<uint8_t>(family);
      batch.Header(head);
      if (table != 0) batch.PutValue(RTA_TABLE, table);
      if (dev != 0) batch.PutValue(RTA_OIF, dev);
      break;
    }
    case RTM_GETRULE: {
      fib_rule_hdr head{};
      head.family = static_cast<uint8_t>(family);
      batch.Header(head);
      break;
    }
    case RTM_GETNEIGH: {
      ndmsg head{};
      head.ndm_family = static_cast<uint8_t>(family);
      // The FDB dump reads the header's index, the neighbour dump only the attribute.
      if (family == AF_BRIDGE) head.ndm_ifindex = static_cast<int>(dev);
      batch.Header(head);
      if (dev != 0 && family != AF_BRIDGE) batch.PutValue(NDA_IFINDEX, dev);
      break;
    }
    default: {
      tcmsg head{};
      head.tcm_ifindex = static_cast<int>(dev);
      batch.Header(head);
    }
  }
  batch.End();
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
  Run run(socket_, *this);
  for (size_t i = 0; i < requests.size(); ++i) run.Do(RouteRequest::Read(*requests[i]), i);
  return run.Finish();
}

uint32_t RouteFamily::LinkIndex(const std::string& name) {
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) throw KernelError(ENODEV, "find link " + name, "the name is longer than 15 bytes");
  memcpy(request.ifr_name, name.data(), name.size());
  if (ioctl(socket_.fd(), SIOCGIFINDEX, &request) != 0) throw KernelError(errno, "find link " + name, "no link is called '" + name + "'");
  return static_cast<uint32_t>(request.ifr_ifindex);
}

void RouteFamily::Query(const json::Value& query, ObjectSink& sink) {
  const Kind& kind = KindOf(query);
  FromJson from(query);
  for (const auto known : {"kind", "family", "name"}) from.Take(known);
  Opt<LinkRef> dev;
  Opt<uint32_t> table;
  from.Plain("dev", dev);
  from.PlainNamed("table", table, kRouteTables);
  from.Finish();
  if (kind.dump == RTM_GETLINK && query.Find("name") != nullptr) return QueryLink(query, sink);
  if (dev && !dev->name.empty()) dev->index = LinkIndex(dev->name);
  if (kind.dump == RTM_GETTCLASS && !dev) throw InputError("say of which link (dev) the classes are asked for");

  Batch batch;
  PutDumpHeader(batch, kind, FamilyOf(query), dev ? dev->index : 0, table.value_or(0));
  for (const auto& datagram : socket_.Dump(batch, "list " + std::string(kind.word) + "s"))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (message.header.nlmsg_type < RTM_BASE) return;
      // Older kernels and tc do not filter by link themselves.
      if (kind.dump == RTM_GETQDISC && dev && message.Head<tcmsg>().tcm_ifindex != static_cast<int>(dev->index)) return;
      // Multicast routing keeps its rules under families of its own (128, 129); they are not `ip rule`'s.
      if (kind.dump == RTM_GETRULE && message.Head<fib_rule_hdr>().family >= 128) return;
      sink.Add([&](json::Writer& to) { WriteRouteObject(message, to); });
    });
}

// One link by name, without listing all; nothing if there is none.
void RouteFamily::QueryLink(const json::Value& query, ObjectSink& sink) {
  std::string name;
  ReadJson(*query.Find("name"), "name", name);
  Batch batch;
  batch.Begin(RTM_GETLINK, 0);
  batch.Header(ifinfomsg{});
  batch.PutString(IFLA_IFNAME, name);
  batch.End();
  const auto failures = socket_.Exchange(batch, [&](const MessageView& message) {
    sink.Add([&](json::Writer& to) { WriteRouteObject(message, to); });
  });
  if (!failures.empty() && failures[0].error != ENODEV) throw KernelError(failures[0].error, "get link " + name, failures[0].text);
}

}  // namespace trellis::netlink
