#include "bridge/links.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "cni/container.h"
#include "cni/error.h"
#include "cni/random.h"
#include "host-local/range.h"

namespace trellis::cni {

namespace {

using netlink::Link;
using netlink::RouteRequest;
using netlink::Verb;

// What a bridge has that lost its last port.
bool IsZero(const HardwareAddress& mac) {
  return std::all_of(mac.octets.begin(), mac.octets.begin() + mac.length, [](uint8_t octet) { return octet == 0; });
}

std::string RandomName() {
  const std::string bytes = RandomBytes(4);
  return "veth" + ToHex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

Link NewBridge(const BridgeConfig& config) {
  Link link;
  link.name = config.bridge;
  link.type = "bridge";
  link.up = true;
  link.mac = RandomMac();  // one without a fixed address takes that of a port, and loses it with the port
  if (config.mtu) link.mtu = *config.mtu;
  if (config.promisc) link.promisc = true;
  if (config.UsesVlans()) link.bridge.emplace().vlanFiltering = true;
  return link;
}

// The last address of an IPv4 network, where it has room for one.
std::optional<IpAddress> BroadcastOf(const IpPrefix& address) {
  if (address.address.length != 4 || address.length > 30) return std::nullopt;
  IpAddress broadcast = address.address;
  for (size_t bit = address.length; bit < 32; ++bit) broadcast.octets[bit / 8] |= static_cast<uint8_t>(0x80 >> (bit % 8));
  return broadcast;
}

RouteRequest AddAddress(const std::string& dev, const IpPrefix& address, bool duplicateAddressDetection) {
  netlink::Address request;
  request.dev = netlink::LinkRef{dev, 0};
  request.address = address;
  if (const auto broadcast = BroadcastOf(address)) request.broadcast = *broadcast;
  if (address.address.length == 16 && !duplicateAddressDetection)
    request.flags = netlink::WordFlags<netlink::kAddressFlags>{IFA_F_NODAD};
  return {Verb::Add, request};
}

// The gateway of the first address of the route's family, as the reference plugin takes it.
std::optional<IpAddress> GatewayFor(const Route& route, const Result& result) {
  if (route.gateway) return route.gateway;
  for (const Ip& ip : result.ips)
    if (ip.address.address.length == route.destination.address.length) return ip.gateway;
  return std::nullopt;
}

RouteRequest AddRoute(const std::string& dev, const Route& route, const std::optional<IpAddress>& gateway) {
  netlink::Route request;
  request.destination = IpPrefix{NetworkOf(route.destination), route.destination.length};
  request.dev = netlink::LinkRef{dev, 0};
  request.gateway = gateway;
  if (route.mtu) request.metrics.emplace().mtu = static_cast<uint32_t>(*route.mtu);
  if (route.advmss)
    (request.metrics ? *request.metrics : request.metrics.emplace()).advmss = static_cast<uint32_t>(*route.advmss);
  if (route.priority) request.metric = static_cast<uint32_t>(*route.priority);
  if (route.table) request.table = static_cast<uint32_t>(*route.table);
  if (route.scope) request.scope = static_cast<uint8_t>(*route.scope);
  return {Verb::Add, request};
}

// The host is a router to its containers, not a host that listens to theirs.
void IgnoreRouters(const std::string& name) { SetSysctl(NetNs(), "net/ipv6/conf/" + name + "/accept_ra", "0"); }

}  // namespace

Link EnsureBridge(netlink::RouteClient& host, const BridgeConfig& config) {
  auto link = host.FindLink(config.bridge);
  if (!link) {
    try {
      host.Do({{Verb::Add, NewBridge(config)}});
    } catch (const KernelError& error) {
      if (error.error() != EEXIST)  // made by another ADD meanwhile
        throw Error(Code::Internal, "failed to create bridge \"" + config.bridge + "\"", error.what());
    }
    // Until its link-local address is sure, a bridge asks for no neighbour, and no IPv6 reaches a pod: it does not wait.
    if (!config.duplicateAddressDetection) SetSysctl(NetNs(), "net/ipv6/conf/" + config.bridge + "/accept_dad", "0");
    link = host.FindLink(config.bridge);
  }
  if (!link || link->type != "bridge")
    throw Error(Code::InvalidConfiguration, "\"" + config.bridge + "\" already exists but is not a bridge",
                "name another \"bridge\"");
  IgnoreRouters(config.bridge);
  const bool promisc = config.promisc && !link->promisc.value_or(false);
  const bool vlans = config.UsesVlans() && !(link->bridge && link->bridge->vlanFiltering.value_or(false));
  if (!link->up.value_or(false) || promisc || vlans) {
    Link change;
    change.name = config.bridge;
    change.up = true;
    if (promisc) change.promisc = true;
    if (vlans) {
      change.type = "bridge";
      change.bridge.emplace().vlanFiltering = true;
    }
    host.Do({{Verb::Change, change}});
  }
  return *link;
}

Veth MakeVeth(netlink::RouteClient& host, const BridgeConfig& config, const Request& request) {
  for (int attempt = 0;; ++attempt) {
    Link link;
    link.name = RandomName();
    link.type = "veth";
    link.master = netlink::LinkRef{config.bridge, 0};
    link.up = true;
    link.mac = RandomMac();
    if (config.mtu) link.mtu = *config.mtu;
    auto& peer = link.peer.emplace();
    peer.name = request.env.interfaceName;
    peer.netns = netlink::NetNsRef{request.env.netns, 0};
    if (config.mtu) peer.mtu = *config.mtu;
    peer.mac = config.mac ? *config.mac : RandomMac();
    if (config.hairpin || config.portIsolation) {
      auto& port = link.port.emplace();
      if (config.hairpin) port.hairpin = true;
      if (config.portIsolation) port.isolated = true;
    }
    try {
      host.Do({{Verb::Add, link}});
      IgnoreRouters(*link.name);
      return {*link.name, *link.mac, *peer.mac};
    } catch (const KernelError& error) {
      netlink::RouteClient container(OpenContainer(request));
      if (error.error() == EEXIST && container.FindLink(request.env.interfaceName))
        throw Error(Code::InvalidConfiguration, "container veth name provided (" + request.env.interfaceName + ") already exists",
                    "the container has an interface of that name; run DEL first, or set another CNI_IFNAME");
      if (error.error() != EEXIST || attempt == 9) throw Error(Code::Internal, "failed to make a veth pair", error.what());
    }
  }
}

void ConfigureContainer(const BridgeConfig& config, const std::string& interfaceName, const Result& result) {
  if (!result.ips.empty()) SetSysctl(NetNs(), "net/ipv4/conf/" + interfaceName + "/arp_notify", "1");
  bool v6 = false;
  for (const Ip& ip : result.ips) v6 = v6 || ip.address.address.length == 16;
  if (v6) {
    SetSysctl(NetNs(), "net/ipv6/conf/" + interfaceName + "/disable_ipv6", "0");
    SetSysctl(NetNs(), "net/ipv6/conf/" + interfaceName + "/ndisc_notify", "1");
  }
  std::vector<RouteRequest> requests;
  for (const Ip& ip : result.ips) requests.push_back(AddAddress(interfaceName, ip.address, config.duplicateAddressDetection));
  Link up;
  up.name = interfaceName;
  up.up = config.containerInterface;
  requests.push_back({Verb::Change, up});
  for (const Route& route : result.routes) requests.push_back(AddRoute(interfaceName, route, GatewayFor(route, result)));
  netlink::RouteClient(NetNs()).Do(std::move(requests));
}

std::vector<IpPrefix> AddressesOf(netlink::RouteClient& client, uint32_t index, int family) {
  std::vector<IpPrefix> addresses;
  client.List(RTM_GETADDR, {family, index, 0},
              [&](const netlink::MessageView& message) { addresses.push_back(*netlink::Address::Decode(message).address); });
  return addresses;
}

void EnsureGateway(netlink::RouteClient& host, const netlink::Link& bridge, const IpPrefix& address, bool force) {
  const int family = address.address.family();
  const IpAddress network = NetworkOf(address);
  for (const IpPrefix& present : AddressesOf(host, *bridge.index, family)) {
    if (present.ToString() == address.ToString()) return;
    // A bridge may carry several IPv6 networks, but one IPv4 address.
    const bool overlaps = NetworkOf({present.address, std::min(present.length, address.length)}) ==
                          NetworkOf({network, std::min(present.length, address.length)});
    if (family == AF_INET6 && !overlaps) continue;
    if (!force)
      throw Error(Code::InvalidConfiguration,
                  "\"" + *bridge.name + "\" already has an IP address different from " + address.ToString(),
                  "it has " + present.ToString() + "; set forceAddress to replace it");
    netlink::Address old;
    old.dev = netlink::LinkRef{{}, *bridge.index};
    old.address = present;
    host.Do({{Verb::Delete, old}});
  }
  // A bridge that somebody else made may have the hardware address of a port, and lose it with the port.
  Link fixed;
  fixed.name = *bridge.name;
  fixed.mac = bridge.mac && !IsZero(*bridge.mac) ? *bridge.mac : RandomMac();
  try {
    host.Do({{Verb::Change, fixed}, AddAddress(*bridge.name, address, false)});
  } catch (const KernelError& error) {
    if (error.error() != EEXIST) throw;
  }
}

}  // namespace trellis::cni
