#include "host-local/ipam.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/guard.h"
#include "cni/error.h"
#include "cni/fault.h"
#include "cni/fields.h"
#include "cni/files.h"
#include "host-local/config.h"
#include "host-local/resolv_conf.h"
#include "host-local/store.h"

namespace trellis::cni {

namespace {

constexpr size_t kMaxResolvConf = 1024 * 1024;

Holder HolderOf(const Request& request) { return {request.env.containerId, request.env.interfaceName}; }

Store OpenStore(const Request& request, const IpamConfig& config) { return Store(config.dataDir, request.network); }

std::vector<IpAddress> Hints(const Request& request) {
  std::vector<IpAddress> hints;
  if (request.previous)
    for (const Ip& ip : request.previous->ips) hints.push_back(ip.address.address);
  return hints;
}

// Takes the requested address that lies in the set out of the list.
std::optional<IpAddress> TakeRequested(const RangeSet& set, std::vector<IpAddress>& requested) {
  const auto found =
      std::find_if(requested.begin(), requested.end(), [&](const IpAddress& address) { return set.Find(address) != nullptr; });
  if (found == requested.end()) return std::nullopt;
  const IpAddress address = *found;
  requested.erase(found);
  return address;
}

Ip ReserveRequested(Store& store, const RangeSet& set, const IpAddress& address, const Holder& holder) {
  const Range& range = *set.Find(address);
  if (address == range.gateway)
    throw Error(Code::InvalidConfiguration, "requested ip " + address.ToString() + " is subnet's gateway");
  if (!store.Reserve(address, holder))
    throw Error(Code::TryAgainLater,
                "requested IP address " + address.ToString() + " is not available in range set " + set.ToString());
  return {std::nullopt, {address, range.subnet.length}, range.gateway};
}

Ip ReserveNext(Store& store, const RangeSet& set, size_t index, const Holder& holder) {
  IpAddress taken;
  const Range* range = set.Walk(store.Last(index), [&](const IpAddress& address) {
    taken = address;
    return store.Reserve(address, holder);
  });
  if (range == nullptr)
    throw Error(Code::TryAgainLater, "no IP addresses available in range set: " + set.ToString(),
                "remove containers, run GC, or configure a larger range");
  return {std::nullopt, {taken, range->subnet.length}, range->gateway};
}

std::vector<Holder> ValidHolders(const json::Value& config) {
  std::vector<Holder> valid;
  for (const json::Value* item : List(config, "cni.dev/valid-attachments"))
    valid.push_back({String(*item, "containerID"), String(*item, "ifname")});
  return valid;
}

Dns ReadResolvConf(const std::string& path) {
  const auto text = ReadRegular(path, kMaxResolvConf, Links::Follow);
  if (!text) throw Error(Code::IoFailure, "resolvConf " + path + " cannot be read", strerror(errno));
  return ParseResolvConf(*text);
}

Result AllocateAddresses(const Request& request) {
  IpamConfig config = IpamConfig::Parse(request);
  Result result;
  if (!config.resolvConf.empty()) result.dns = ReadResolvConf(config.resolvConf);
  result.routes = config.routes;

  const Holder holder = HolderOf(request);
  Store store = OpenStore(request, config);
  for (const IpAddress& held : store.Find(holder))
    for (const RangeSet& set : config.sets)
      if (set.Find(held) != nullptr)
        throw Error(Code::InvalidConfiguration,
                    held.ToString() + " has been allocated to " + holder.containerId + ", duplicate allocation is not allowed");

  Guard release([&] {
    for (const Ip& ip : result.ips) store.Release(ip.address.address);
  });
  for (size_t i = 0; i < config.sets.size(); ++i) {
    const auto wanted = TakeRequested(config.sets[i], config.requested);
    result.ips.push_back(wanted ? ReserveRequested(store, config.sets[i], *wanted, holder)
                                : ReserveNext(store, config.sets[i], i, holder));
    FaultPoint("reserve");
    store.SetLast(i, result.ips.back().address.address);
  }
  if (!config.requested.empty())
    throw Error(Code::InvalidConfiguration, "failed to allocate all requested IPs: " + config.requested[0].ToString(),
                "it lies in none of the configured ranges");
  release.Dismiss();
  return result;
}

void ReleaseAddresses(const Request& request) {
  const IpamConfig config = IpamConfig::Parse(request);
  if (!Store::Exists(config.dataDir, request.network)) return;
  Store store = OpenStore(request, config);
  for (const IpAddress& address : store.Find(HolderOf(request), Hints(request))) store.Release(address);
}

void CheckAddresses(const Request& request) {
  const IpamConfig config = IpamConfig::Parse(request);
  const Store store = OpenStore(request, config);
  if (store.Find(HolderOf(request), Hints(request)).empty())
    throw Error(Code::Internal, "host-local: Failed to find address added by container " + request.env.containerId);
}

void CollectAddresses(const Request& request) {
  const IpamConfig config = IpamConfig::Parse(request);
  OpenStore(request, config).Keep(ValidHolders(request.config));
}

// Throws Error PluginNotAvailable if no address could be handed out.
void RequireAddresses(const Request& request) {
  try {
    const IpamConfig config = IpamConfig::Parse(request);
    const Store store = OpenStore(request, config);
  } catch (const Error& error) {
    throw Error(Code::PluginNotAvailable, error.what(), error.details());
  }
}

}  // namespace

const Plugin kHostLocal = {"host-local",      "hands out addresses of configured ranges",
                           AllocateAddresses, ReleaseAddresses,
                           CheckAddresses,    CollectAddresses,
                           RequireAddresses};

}  // namespace trellis::cni
