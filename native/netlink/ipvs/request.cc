// Reads and checks requests about IPVS. Knows no kernel.
#include "netlink/ipvs/family.h"

namespace trellis::netlink {

namespace {

// What may be done with what.
enum class IpvsVerb : uint8_t { Add, Replace, Change, Delete, Flush, Zero };
constexpr Name kIpvsVerbs[] = {
    {"add", static_cast<uint32_t>(IpvsVerb::Add)},       {"replace", static_cast<uint32_t>(IpvsVerb::Replace)},
    {"change", static_cast<uint32_t>(IpvsVerb::Change)}, {"delete", static_cast<uint32_t>(IpvsVerb::Delete)},
    {"flush", static_cast<uint32_t>(IpvsVerb::Flush)},   {"zero", static_cast<uint32_t>(IpvsVerb::Zero)}};

// Flush is of everything; zero of everything or of one service.
IpvsEverything ReadEverything(IpvsVerb verb, FromJson& from) {
  IpvsEverything read;
  read.command = verb == IpvsVerb::Flush ? IPVS_CMD_FLUSH : IPVS_CMD_ZERO;
  if (verb == IpvsVerb::Flush) return read;
  Opt<bool> all;
  from.Plain("all", all);
  if (all.value_or(false)) return read;
  read.service.emplace().Describe(from);
  read.service->Check();
  return read;
}

IpvsDestination ReadDestination(Verb verb, FromJson& from) {
  IpvsDestination read;
  Opt<IpvsServiceKey> service;
  from.PlainObject("service", service);
  if (!service) throw InputError("say of which service the destination is");
  read.service = *service;
  read.Describe(from);
  read.Check(verb);
  return read;
}

}  // namespace

IpvsRequest IpvsRequest::Read(const json::Value& request) {
  FromJson from(request);
  const json::Value* word = from.Take("do");
  if (word == nullptr) throw InputError("field 'do' must be one of " + ListWords(kIpvsVerbs));
  const auto verb = static_cast<IpvsVerb>(ReadWord(*word, "do", kIpvsVerbs, 5));
  std::string kind;
  if (const auto* value = from.Take("kind")) ReadJson(*value, "kind", kind);
  Opt<bool> existsOk, missingOk;
  from.Plain("existsOk", existsOk);
  from.Plain("missingOk", missingOk);
  if (existsOk && verb != IpvsVerb::Add) ThrowField("existsOk", "goes with 'add' only");
  if (missingOk && verb != IpvsVerb::Delete) ThrowField("missingOk", "goes with 'delete' only");

  IpvsRequest read;
  const bool ordinary = verb <= IpvsVerb::Delete;
  if (ordinary) read.verb = static_cast<Verb>(verb);
  if (kind == "service" && ordinary) {
    IpvsService service;
    service.Describe(from);
    service.Check(read.verb);
    read.object = std::move(service);
  } else if (kind == "service") {
    read.object = ReadEverything(verb, from);
  } else if (kind == "destination" && ordinary) {
    read.object = ReadDestination(read.verb, from);
  } else if (kind == "timeouts" && verb == IpvsVerb::Change) {
    IpvsTimeouts timeouts;
    timeouts.Describe(from);
    read.object = timeouts;
  } else {
    throw InputError(
        "fields 'do' and 'kind' must be add, replace, change or delete of a service or destination, flush or zero of a service, "
        "or change of timeouts");
  }
  from.Finish();
  return read;
}

}  // namespace trellis::netlink
