#include "bridge/bridge.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "base/error.h"
#include "base/guard.h"
#include "bridge/links.h"
#include "bridge/masquerade.h"
#include "bridge/spoof.h"
#include "bridge/vlan.h"
#include "cni/container.h"
#include "cni/error.h"
#include "cni/fault.h"
#include "cni/fields.h"
#include "host-local/range.h"
#include "ipam/ipam.h"

namespace trellis::cni {

namespace {

using netlink::RouteClient;

std::string MacOf(RouteClient& client, const std::string& name) {
  const auto link = client.FindLink(name);
  return link && link->mac ? link->mac->ToString() : std::string();
}

std::vector<IpPrefix> PodAddresses(const Result& result) {
  std::vector<IpPrefix> addresses;
  for (const Ip& ip : result.ips) addresses.push_back(ip.address);
  return addresses;
}

bool IsDefault(const Route& route, size_t length) {
  return route.destination.length == 0 && route.destination.address.length == length;
}

// Gateways where none was given, and the default route by way of them.
void CompleteResult(Result& result, const BridgeConfig& config) {
  for (Ip& ip : result.ips) {
    ip.interface = 2;
    if (!ip.gateway && config.isGateway) ip.gateway = Next(NetworkOf(ip.address));
    if (!config.isDefaultGateway || !ip.gateway) continue;
    const size_t length = ip.address.address.length;
    const bool has =
        std::any_of(result.routes.begin(), result.routes.end(), [&](const Route& route) { return IsDefault(route, length); });
    if (has) continue;
    Route route;
    route.destination = {IpAddress::Zero(ip.address.address.family()), 0};
    route.gateway = ip.gateway;
    result.routes.push_back(route);
  }
}

void MakeGateways(RouteClient& host, const netlink::Link& bridge, const BridgeConfig& config, const Result& result) {
  for (const Ip& ip : result.ips) {
    if (!ip.gateway) continue;
    EnsureGateway(host, bridge, {*ip.gateway, ip.address.length}, config.forceAddress);
    SetSysctl(NetNs(), ip.address.address.length == 4 ? "net/ipv4/ip_forward" : "net/ipv6/conf/all/forwarding", "1");
  }
}

MasqueradeBackend BackendOf(const BridgeConfig& config) { return config.backend ? *config.backend : DefaultBackend("ipMasq"); }

void RemoveLink(RouteClient& client, const std::string& name) {
  netlink::Link link;
  link.name = name;
  try {
    client.Do({{netlink::Verb::Delete, link}});
  } catch (const KernelError& error) {
    if (error.error() != ENODEV) throw;
  }
}

// Undoes the steps that were taken, the last first, unless told that all went well.
class Rollback {
 public:
  ~Rollback() {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      try {
        (*step)();
      } catch (const std::exception&) {
        // the error that led here is the one to tell
      }
    }
  }
  void Push(std::function<void()> step) { steps_.push_back(std::move(step)); }
  void Dismiss() { steps_.clear(); }

 private:
  std::vector<std::function<void()>> steps_;
};

void RequireSame(const std::string& what, const std::string& is, const std::string& should) {
  if (is == should) return;
  throw Error(Code::Internal, what + " is " + (is.empty() ? "missing" : is) + ", not " + should, "run DEL and ADD again");
}

void CheckContainer(const Request& request) {
  RouteClient container(OpenContainer(request));
  const auto link = container.FindLink(request.env.interfaceName);
  if (!link) throw Error(Code::Internal, "Interface " + request.env.interfaceName + " Missing", "run DEL and ADD again");
  for (const Interface& interface : request.previous->interfaces)
    if (interface.sandbox == request.env.netns && interface.name == request.env.interfaceName && !interface.mac.empty())
      RequireSame("the MAC address of " + interface.name, link->mac ? link->mac->ToString() : "", interface.mac);
  for (const Ip& ip : request.previous->ips) {
    const auto present = AddressesOf(container, *link->index, ip.address.address.family());
    const bool has = std::any_of(present.begin(), present.end(),
                                 [&](const IpPrefix& address) { return address.ToString() == ip.address.ToString(); });
    if (!has)
      throw Error(Code::Internal, "Failed to match addr " + ip.address.ToString() + " on interface " + request.env.interfaceName);
  }
  for (const Route& route : request.previous->routes) {
    bool found = false;
    const int family = route.destination.address.family();
    container.List(RTM_GETROUTE, {family, *link->index, 0}, [&](const netlink::MessageView& message) {
      const auto present = netlink::Route::Decode(message);
      found = found || (present.destination->length == route.destination.length &&
                        present.destination->address == NetworkOf(route.destination));
    });
    if (!found)
      throw Error(Code::Internal,
                  "Expected Route " + route.destination.ToString() + " not found in " + request.env.interfaceName);
  }
}

void CheckHost(const Request& request, const BridgeConfig& config) {
  RouteClient host{NetNs()};
  const auto bridge = host.FindLink(config.bridge);
  if (!bridge || bridge->type != "bridge") throw Error(Code::Internal, "bridge " + config.bridge + " is missing");
  for (const Interface& interface : request.previous->interfaces) {
    if (!interface.sandbox.empty() || interface.name == config.bridge) continue;
    const auto port = host.FindLink(interface.name);
    if (!port) throw Error(Code::Internal, "Interface " + interface.name + " Missing");
    if (!port->master || port->master->index != *bridge->index)
      throw Error(Code::Internal, interface.name + " is no port of " + config.bridge);
  }
}

Result AddToBridge(const Request& request) {
  const BridgeConfig config = BridgeConfig::Parse(request);
  const CalledPlugin ipam = IpamOf(request);
  const NetNs container = OpenContainer(request);
  RouteClient host{NetNs()};
  Rollback rollback;

  const netlink::Link bridge = EnsureBridge(host, config);
  FaultPoint("bridge");
  const Veth veth = MakeVeth(host, config, request);
  rollback.Push([&] { RemoveLink(host, veth.name); });
  FaultPoint("veth");
  if (config.UsesVlans()) SetPortVlans(host, veth.name, config);

  Result result;
  if (ipam) {
    result = ipam.Add(request);
    rollback.Push([&] { ipam.Del(request); });
    FaultPoint("ipam");
    if (result.ips.empty()) throw Error(Code::Internal, "IPAM plugin returned missing IP config");
  }
  CompleteResult(result, config);
  container.RunHere([&] { ConfigureContainer(config, request.env.interfaceName, result); });
  FaultPoint("container");
  if (config.isGateway) MakeGateways(host, bridge, config, result);
  FaultPoint("gateway");

  if (config.ChecksSenders()) {
    GuardedPort port{veth.name, veth.containerMac, {}};
    if (config.ipSpoofCheck) port.addresses = PodAddresses(result);
    AddSpoofCheck(OwnerOf(request), port);
    rollback.Push([&] { RemoveSpoofCheck(OwnerOf(request)); });
  }
  if (config.ipMasq) {
    AddMasquerade(BackendOf(config), OwnerOf(request), PodAddresses(result));
    rollback.Push([&] { RemoveMasquerade(BackendOf(config), OwnerOf(request)); });
    FaultPoint("masquerade");
  }
  result.interfaces = {{config.bridge, MacOf(host, config.bridge), {}, std::nullopt, {}, {}},
                       {veth.name, veth.mac.ToString(), {}, std::nullopt, {}, {}},
                       {request.env.interfaceName, veth.containerMac.ToString(), request.env.netns, std::nullopt, {}, {}}};
  if (config.mtu)
    for (Interface& interface : result.interfaces) interface.mtu = *config.mtu;
  if (!config.dns.empty()) result.dns = config.dns;
  rollback.Dismiss();
  return result;
}

void RemoveFromBridge(const Request& request) {
  const BridgeConfig config = BridgeConfig::Parse(request);
  const CalledPlugin ipam = IpamOf(request);
  if (ipam) ipam.Del(request);
  // Rules go first: the kernel frees them while it takes the interface down, and both wait for the same grace period.
  if (config.ChecksSenders()) RemoveSpoofCheck(OwnerOf(request));
  if (config.ipMasq) RemoveMasquerade(BackendOf(config), OwnerOf(request));
  if (const auto container = FindContainer(request))
    container->RunHere([&] {
      RouteClient inside{NetNs()};
      RemoveLink(inside, request.env.interfaceName);
    });
}

void CheckBridge(const Request& request) {
  const BridgeConfig config = BridgeConfig::Parse(request);
  const CalledPlugin ipam = IpamOf(request);
  if (ipam) ipam.Check(request);
  CheckHost(request, config);
  CheckContainer(request);
  if (config.ipMasq) CheckMasquerade(BackendOf(config), OwnerOf(request), PodAddresses(*request.previous));
}

void CollectBridge(const Request& request) {
  const BridgeConfig config = BridgeConfig::Parse(request);
  const CalledPlugin ipam = IpamOf(request);
  if (ipam) ipam.Gc(request);
  const std::vector<Owner> valid = ValidOwners(request);
  if (config.ipMasq) CollectMasquerade(BackendOf(config), request.network, valid);
  if (config.ChecksSenders()) CollectSpoofChecks(request.network, valid);
}

void BridgeStatus(const Request& request) {
  BridgeConfig::Parse(request);
  const CalledPlugin ipam = IpamOf(request);
  if (ipam) ipam.Status(request);
}

}  // namespace

const Plugin kBridge = {
    "bridge",    "joins a container to a bridge of the host", AddToBridge, RemoveFromBridge, CheckBridge, CollectBridge,
    BridgeStatus};

}  // namespace trellis::cni
