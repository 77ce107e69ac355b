#include "host-local/config.h"

#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni {

namespace {

constexpr const char* kDataDir = "/var/lib/cni/networks";

// A plain address or one with a prefix length.
IpAddress ParseRequested(const std::string& text) {
  const auto prefix = IpPrefix::Parse(text);
  if (!prefix) throw Error(Code::InvalidConfiguration, "requested address \"" + text + "\" is no IP address");
  return prefix->address;
}

std::vector<IpAddress> RequestedAddresses(const Request& request) {
  std::vector<IpAddress> requested;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) requested.push_back(ParseRequested(text));
  };
  if (const auto found = request.env.arguments.find("IP"); found != request.env.arguments.end()) add(found->second);
  if (const json::Value* args = Object(request.config, "args"))
    if (const json::Value* cni = Object(*args, "cni"))
      for (const auto& text : Strings(*cni, "ips")) add(text);
  if (const json::Value* runtime = Object(request.config, "runtimeConfig"))
    for (const auto& text : Strings(*runtime, "ips")) add(text);
  return requested;
}

void AppendSets(const json::Value& object, const char* name, std::vector<RangeSet>& sets) {
  const json::Value* list = object.Find(name);
  if (list == nullptr || list->IsNull()) return;
  if (!list->IsArray()) throw Error(Code::InvalidConfiguration, std::string("\"") + name + "\" must be a list of range sets");
  for (const auto& item : list->items()) sets.push_back(RangeSet::Parse(item));
}

void CheckSets(const std::vector<RangeSet>& sets, Version version) {
  if (sets.empty()) throw Error(Code::InvalidConfiguration, "no IP ranges specified", "give ipam a \"subnet\" or \"ranges\"");
  for (size_t i = 0; i < sets.size(); ++i)
    for (size_t j = i + 1; j < sets.size(); ++j) {
      if (sets[i].Overlaps(sets[j]))
        throw Error(Code::InvalidConfiguration, "range set " + std::to_string(i) + " overlaps with " + std::to_string(j));
      if (version < Version::V0_3_0 && sets[i].family() == sets[j].family())
        throw Error(Code::InvalidConfiguration,
                    "CNI version " + std::string(ToString(version)) + " does not support more than 1 address per family");
    }
}

}  // namespace

IpamConfig IpamConfig::Parse(const Request& request) {
  const json::Value* ipam = Object(request.config, "ipam");
  if (ipam == nullptr) throw Error(Code::InvalidConfiguration, "IPAM config missing 'ipam' key");
  IpamConfig config;
  if (const json::Value* runtime = Object(request.config, "runtimeConfig")) AppendSets(*runtime, "ipRanges", config.sets);
  if (!String(*ipam, "subnet").empty()) config.sets.push_back({{Range::Parse(*ipam)}});
  AppendSets(*ipam, "ranges", config.sets);
  CheckSets(config.sets, request.version);
  for (const json::Value* route : List(*ipam, "routes")) config.routes.push_back(ParseRoute(*route));
  config.requested = RequestedAddresses(request);
  config.dataDir = String(*ipam, "dataDir");
  if (config.dataDir.empty()) config.dataDir = kDataDir;
  config.resolvConf = String(*ipam, "resolvConf");
  return config;
}

}  // namespace trellis::cni
