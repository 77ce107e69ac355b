#include "netlink/ipvs/family.h"

#include <cerrno>

#include "base/error.h"

namespace trellis::netlink {

namespace {

constexpr size_t kDestinationsPerObject = 250;
constexpr const char* kNoIpvs = "this kernel has no ip_vs; load the module ip_vs (modprobe ip_vs), or use a kernel built with it";

const GenericFamily& ResolveIpvs(GenericSocket& socket) {
  try {
    return socket.Resolve(IPVS_GENL_NAME);
  } catch (const KernelError& error) {
    if (error.error() != ENOENT && error.error() != EOPNOTSUPP) throw;
    throw KernelError(EOPNOTSUPP, "open IPVS", kNoIpvs);
  }
}

// One message of a request. A replace is two: change it, or else make it; each may meet what the other is for.
struct Sent {
  size_t index;
  int expected;
};

class Builder {
 public:
  Builder(Batch& batch, const GenericFamily& ipvs) : batch_(batch), ipvs_(ipvs) {}

  void Put(IpvsRequest& request, size_t index) {
    std::visit([&](auto& object) { PutObject(object, request.verb, index); }, request.object);
  }
  const Sent& At(size_t owner) const { return sent_[owner]; }

 private:
  void Begin(uint8_t command, size_t index, int expected = 0) {
    BeginGeneric(batch_, ipvs_, command, 0, sent_.size());
    sent_.push_back({index, expected});
  }

  template <class T>
  void PutOne(T& object, uint8_t command, bool full, size_t index, int expected = 0) {
    Begin(command, index, expected);
    object.Encode(batch_, full);
    batch_.End();
  }

  // The command numbers of a kind follow each other: new, set, delete.
  template <class T>
  void PutByVerb(T& object, uint8_t create, Verb verb, size_t index, int missing) {
    const auto set = static_cast<uint8_t>(create + 1);
    if (verb == Verb::Delete) return PutOne(object, static_cast<uint8_t>(create + 2), false, index);
    if (verb == Verb::Change) return PutOne(object, set, true, index);
    if (verb == Verb::Replace) PutOne(object, set, true, index, missing);
    PutOne(object, create, true, index, verb == Verb::Replace ? EEXIST : 0);
  }
  void PutObject(IpvsService& service, Verb verb, size_t index) { PutByVerb(service, IPVS_CMD_NEW_SERVICE, verb, index, ESRCH); }
  void PutObject(IpvsDestination& destination, Verb verb, size_t index) {
    PutByVerb(destination, IPVS_CMD_NEW_DEST, verb, index, ENOENT);
  }
  void PutObject(IpvsTimeouts& timeouts, Verb, size_t index) {
    Begin(IPVS_CMD_SET_CONFIG, index);
    ToAttributes to(batch_);
    timeouts.Describe(to);
    batch_.End();
  }
  void PutObject(IpvsEverything& everything, Verb, size_t index) {
    Begin(everything.command, index);
    if (everything.service) {
      const size_t nest = batch_.BeginNest(IPVS_CMD_ATTR_SERVICE);
      everything.service->Encode(batch_);
      batch_.EndNest(nest);
    }
    batch_.End();
  }

  Batch& batch_;
  const GenericFamily& ipvs_;
  std::vector<Sent> sent_;
};

// IPVS has no extended texts of its own.
std::string Explain(const IpvsRequest& request, int error) {
  if (const auto* service = std::get_if<IpvsService>(&request.object)) {
    if (error == ENOENT && service->persistenceEngine) return "the kernel has no scheduler or persistence engine of that name";
    if (error == ENOENT)
      return "the kernel has no scheduler " + service->scheduler.value_or("") + " (module ip_vs_" +
             service->scheduler.value_or("") + ")";
    if (error == EAFNOSUPPORT) return "this kernel's ip_vs has no IPv6";
  } else if (std::holds_alternative<IpvsDestination>(request.object)) {
    if (error == ENOENT) return "the service has no such destination";
    // The kernel asks its local routing table, which a new namespace has only once its loopback was up.
    if (error == EINVAL)
      return "the address is not that of a host; in a namespace whose loopback link is down no IPv4 address is";
  } else if (std::holds_alternative<IpvsTimeouts>(request.object) && error == EINVAL) {
    return "a timeout is out of range";
  }
  return error == ESRCH ? "there is no such service" : "";
}

std::string Detail(const IpvsRequest& request) {
  if (const auto* destination = std::get_if<IpvsDestination>(&request.object)) return destination->Text();
  const auto* service = std::get_if<IpvsService>(&request.object);
  if (service == nullptr) return "";
  if (service->key.fwmark) return service->key.Text();
  const auto protocol = WordOf(kIpvsProtocols, *service->key.protocol).value_or("");
  return "port " + std::to_string(service->key.port->value) + "/" + std::string(protocol);
}

template <class T>
void WriteObject(T& object, json::Writer& to) {
  ToJson(to).Object(object);
}

}  // namespace

IpvsTimeouts IpvsTimeouts::Decode(const MessageView& message) {
  FromAttributes from(message.Attributes<genlmsghdr>());
  IpvsTimeouts out;
  out.Describe(from);
  return out;
}

IpvsInfo IpvsInfo::Decode(const MessageView& message) {
  FromAttributes from(message.Attributes<genlmsghdr>());
  IpvsInfo out;
  out.Describe(from);
  Opt<uint32_t> code;
  from("version", IPVS_INFO_ATTR_VERSION, code);
  if (code)
    out.version = std::to_string(*code >> 16 & 255) + "." + std::to_string(*code >> 8 & 255) + "." + std::to_string(*code & 255);
  return out;
}

IpvsFamily::IpvsFamily(const NetNs& ns) : socket_(ns), ipvs_(ResolveIpvs(socket_)) {}

std::vector<Refusal> IpvsFamily::Apply(const Requests& requests) {
  std::vector<IpvsRequest> read;
  read.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    try {
      read.push_back(IpvsRequest::Read(*requests[i]));
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
  }
  Batch batch;
  Builder builder(batch, ipvs_);
  for (size_t i = 0; i < read.size(); ++i) builder.Put(read[i], i);
  std::vector<Refusal> refusals;
  for (Failure& failure : socket_.Exchange(batch)) {
    const Sent& sent = builder.At(failure.owner);
    if (failure.error == sent.expected || (!refusals.empty() && refusals.back().index == sent.index)) continue;
    const IpvsRequest& request = read[sent.index];
    std::string text = failure.text.empty() ? Explain(request, failure.error) : std::move(failure.text);
    refusals.push_back({sent.index, failure.error, std::move(text), {}, Detail(request)});
  }
  return refusals;
}

template <class T>
T IpvsFamily::Get(uint8_t command, const std::string& operation) {
  Batch batch;
  BeginGeneric(batch, ipvs_, command, 0);
  batch.End();
  T out;
  const auto failures = socket_.Exchange(batch, [&](const MessageView& message) { out = T::Decode(message); });
  if (!failures.empty()) throw KernelError(failures[0].error, operation, failures[0].text);
  return out;
}

void IpvsFamily::Query(const json::Value& query, ObjectSink& sink) {
  FromJson from(query);
  std::string kind;
  if (const auto* word = from.Take("kind")) ReadJson(*word, "kind", kind);
  if (kind == "service") return QueryServices(from, sink);
  from.Finish();
  if (kind == "timeouts") {
    auto timeouts = Get<IpvsTimeouts>(IPVS_CMD_GET_CONFIG, "get IPVS's timeouts");
    sink.Add([&](json::Writer& to) { WriteObject(timeouts, to); });
  } else if (kind == "info") {
    auto info = Get<IpvsInfo>(IPVS_CMD_GET_INFO, "get IPVS's version");
    sink.Add([&](json::Writer& to) { WriteObject(info, to); });
  } else {
    ThrowField("kind", "must be service, timeouts or info");
  }
}

// All services, or the one of that key (none if there is none). A service's destinations come behind it in pieces:
// {"destinations":[...]}.
void IpvsFamily::QueryServices(FromJson& from, ObjectSink& sink) {
  Opt<IpvsServiceKey> key;
  Opt<bool> destinations;
  from.PlainObject("key", key);
  from.Plain("destinations", destinations);
  from.Finish();
  if (key) key->Check();
  Batch batch;
  BeginGeneric(batch, ipvs_, IPVS_CMD_GET_SERVICE, 0);
  if (key) {
    const size_t nest = batch.BeginNest(IPVS_CMD_ATTR_SERVICE);
    key->Encode(batch);
    batch.EndNest(nest);
  }
  batch.End();
  std::vector<IpvsService> services;
  auto take = [&](const MessageView& message) {
    if (message.header.nlmsg_type == ipvs_.id) services.push_back(IpvsService::Decode(message));
  };
  if (key) {
    const auto failures = socket_.Exchange(batch, take);
    if (!failures.empty() && failures[0].error != ESRCH)
      throw KernelError(failures[0].error, "get service " + key->Text(), failures[0].text);
  } else {
    for (const auto& datagram : socket_.Dump(batch, "list services")) ForEachMessage(datagram, take);
  }
  for (auto& service : services) AddService(std::move(service), destinations.value_or(true), sink);
}

void IpvsFamily::AddService(IpvsService service, bool destinations, ObjectSink& sink) {
  sink.Add([&](json::Writer& to) { WriteObject(service, to); });
  if (destinations) AddDestinations(service.key, sink);
}

void IpvsFamily::AddDestinations(const IpvsServiceKey& key, ObjectSink& sink) {
  Batch batch;
  BeginGeneric(batch, ipvs_, IPVS_CMD_GET_DEST, NLM_F_DUMP);
  const size_t nest = batch.BeginNest(IPVS_CMD_ATTR_SERVICE);
  key.Encode(batch);
  batch.EndNest(nest);
  batch.End();
  std::vector<IpvsDestination> piece;
  auto deliver = [&] {
    if (piece.empty()) return;
    sink.Add([&](json::Writer& to) {
      to.BeginObject();
      to.Key("destinations");
      to.BeginArray();
      for (auto& destination : piece) WriteObject(destination, to);
      to.EndArray();
      to.EndObject();
    });
    piece.clear();
  };
  for (const auto& datagram : socket_.Dump(batch, "list destinations of " + key.Text()))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (message.header.nlmsg_type != ipvs_.id) return;
      piece.push_back(IpvsDestination::Decode(message, key.family.value_or(0)));
      if (piece.size() == kDestinationsPerObject) deliver();
    });
  deliver();
}

}  // namespace trellis::netlink
