#include "vxlan/device.h"

#include <cerrno>

#include "base/error.h"
#include "cni/error.h"
#include "cni/random.h"
#include "netlink/route/client.h"

namespace trellis::cni {

namespace {

using netlink::Link;
using netlink::RouteClient;
using netlink::Verb;

[[noreturn]] void Differs(const DeviceConfig& config, const std::string& what) {
  throw Error(Code::InvalidConfiguration, "\"" + config.name + "\" " + what,
              "correct the configuration, or delete the device so that it is made anew");
}

void RequireAlike(const DeviceConfig& config, const Link& link, RouteClient& client) {
  if (!config.IsOurs()) return;
  if (link.type != "vxlan" || !link.vxlan) Differs(config, "already exists but is not a VXLAN device");
  const netlink::VxlanOptions& is = *link.vxlan;
  if (is.vni != config.vni)
    Differs(config, "has VNI " + std::to_string(is.vni.value_or(0)) + ", not " + std::to_string(*config.vni));
  const uint16_t port = is.port ? is.port->value : 0;
  if (port != config.port) Differs(config, "uses port " + std::to_string(port) + ", not " + std::to_string(config.port));
  if (config.local && !(is.local && *is.local == *config.local))
    Differs(config,
            "has the local address " + (is.local ? is.local->ToString() : "(none)") + ", not " + config.local->ToString());
  if (!config.dev.empty() && !(is.dev && is.dev->index == client.LinkIndex(config.dev)))
    Differs(config, "is not on " + config.dev);
}

// The MAC address is said, so that no udev rule changes it later, after other nodes have learned it. No learning: the
// daemon tells the device where the others are.
Link NewDevice(const DeviceConfig& config, uint32_t mtu) {
  Link link;
  link.name = config.name;
  link.type = "vxlan";
  link.mtu = mtu;
  link.mac = RandomMac();
  link.up = true;
  auto& vxlan = link.vxlan.emplace();
  vxlan.vni = *config.vni;
  vxlan.port = netlink::Be16{config.port};
  vxlan.learning = false;
  if (config.local) vxlan.local = *config.local;
  if (!config.dev.empty()) vxlan.dev = netlink::LinkRef{config.dev, 0};
  return link;
}

void RequireUnderlay(const DeviceConfig& config, RouteClient& client) {
  if (!config.dev.empty() && !client.FindLink(config.dev))
    throw Error(Code::InvalidConfiguration, "there is no link \"" + config.dev + "\" for the VXLAN device",
                "vxlan.dev names the link that reaches the other nodes");
}

void MakeDevice(const DeviceConfig& config, uint32_t mtu, RouteClient& client) {
  RequireUnderlay(config, client);
  try {
    client.Do({{Verb::Add, NewDevice(config, mtu)}});
  } catch (const KernelError& error) {
    if (error.error() != EEXIST)
      throw Error(Code::Internal, "failed to create VXLAN device \"" + config.name + "\"", error.what());
    // Made by another ADD meanwhile, or its VNI is in use.
    if (!client.FindLink(config.name))
      throw Error(Code::InvalidConfiguration,
                  "another device has VNI " + std::to_string(*config.vni) + " and port " + std::to_string(config.port),
                  "name that device in vxlan.name, or choose another vni");
  }
}

[[noreturn]] void Missing(const DeviceConfig& config) {
  throw Error(Code::TryAgainLater, "VXLAN device \"" + config.name + "\" is missing",
              config.IsOurs() ? "the next ADD makes it; its routes come from the overlay daemon"
                              : "the overlay daemon makes it; give the vxlan section a \"vni\" to have it made here");
}

}  // namespace

void EnsureDevice(const DeviceConfig& config, uint32_t mtu) {
  RouteClient client{NetNs()};
  auto link = client.FindLink(config.name);
  if (!link && config.IsOurs()) {
    MakeDevice(config, mtu, client);
    link = client.FindLink(config.name);
  }
  if (!link) Missing(config);
  RequireUnderlay(config, client);
  RequireAlike(config, *link, client);
  if (!config.IsOurs() || link->up.value_or(false)) return;
  Link up;
  up.name = config.name;
  up.up = true;
  client.Do({{Verb::Change, up}});
}

void RequireDevice(const DeviceConfig& config) {
  RouteClient client{NetNs()};
  const auto link = client.FindLink(config.name);
  if (!link) Missing(config);
  RequireUnderlay(config, client);
  RequireAlike(config, *link, client);
  if (config.IsOurs() && !link->up.value_or(false))
    throw Error(Code::Internal, "VXLAN device \"" + config.name + "\" is down", "ip link set " + config.name + " up");
}

void RequireDevicePossible(const DeviceConfig& config) {
  RouteClient client{NetNs()};
  RequireUnderlay(config, client);
  const auto link = client.FindLink(config.name);
  if (link) return RequireAlike(config, *link, client);
  if (!config.IsOurs()) Missing(config);
}

}  // namespace trellis::cni
