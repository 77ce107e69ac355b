// The links of the bridge plugin: the bridge, the veth pair, what is set inside the container.
// Guarantees: each step is idempotent or undone by its caller.
#pragma once
#include <string>
#include <vector>

#include "bridge/config.h"
#include "netlink/route/client.h"

namespace trellis::cni {

// The bridge as configured, made if need be. Throws Error when the name is another kind of link's.
netlink::Link EnsureBridge(netlink::RouteClient& host, const BridgeConfig& config);

// The host's end of a pair, and the addresses of both.
struct Veth {
  std::string name;
  HardwareAddress mac;
  HardwareAddress containerMac;
};

// A veth pair with one end in the container. The addresses are chosen here: nobody has to read them back, and no
// service of the host that gives new links addresses of its own changes them.
Veth MakeVeth(netlink::RouteClient& host, const BridgeConfig& config, const Request& request);

// Addresses, state and routes, run inside the container. Addresses come before the link goes up, so that the kernel announces
// them (gratuitous ARP, unsolicited neighbour advertisement) the moment it does.
void ConfigureContainer(const BridgeConfig& config, const std::string& interfaceName, const Result& result);

// The gateway's address on the bridge.
void EnsureGateway(netlink::RouteClient& host, const netlink::Link& bridge, const IpPrefix& address, bool force);

// Every address of a link.
std::vector<IpPrefix> AddressesOf(netlink::RouteClient& client, uint32_t index, int family);

}  // namespace trellis::cni
