#include "bridge/config.h"

#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni {

namespace {

constexpr int64_t kMaxVlan = 4094;

[[noreturn]] void Fail(const std::string& what, const std::string& details = {}) {
  throw Error(Code::InvalidConfiguration, what, details);
}

uint16_t VlanId(const json::Value& object, const char* name, int64_t least) {
  const int64_t id = Integer(object, name).value_or(0);
  if (id < least || id > kMaxVlan)
    Fail("invalid VLAN ID " + std::to_string(id), std::string(name) + " must be between " + std::to_string(least) + " and 4094");
  return static_cast<uint16_t>(id);
}

std::vector<VlanRange> ParseTrunk(const json::Value& config) {
  std::vector<VlanRange> trunk;
  for (const json::Value* item : List(config, "vlanTrunk")) {
    if (Integer(*item, "id")) {
      const uint16_t id = VlanId(*item, "id", 1);
      trunk.push_back({id, id});
      continue;
    }
    const VlanRange range{VlanId(*item, "minID", 1), VlanId(*item, "maxID", 1)};
    if (range.first > range.last) Fail("minID is greater than maxID in trunk parameter");
    trunk.push_back(range);
  }
  return trunk;
}

// A runtime asks for a hardware address in one of three places; the newest wins.
std::optional<HardwareAddress> RequestedMac(const Request& request) {
  std::string text;
  if (const auto found = request.env.arguments.find("MAC"); found != request.env.arguments.end()) text = found->second;
  if (const json::Value* args = Object(request.config, "args"))
    if (const json::Value* cni = Object(*args, "cni"); cni != nullptr && !String(*cni, "mac").empty()) text = String(*cni, "mac");
  if (const json::Value* runtime = Object(request.config, "runtimeConfig");
      runtime != nullptr && !String(*runtime, "mac").empty())
    text = String(*runtime, "mac");
  if (text.empty()) return std::nullopt;
  const auto mac = HardwareAddress::Parse(text);
  if (!mac || mac->length != 6) Fail("invalid MAC address \"" + text + "\"", "a MAC address is like 02:00:00:00:00:01");
  return mac;
}

}  // namespace

BridgeConfig BridgeConfig::Parse(const Request& request) {
  const json::Value& from = request.config;
  const auto flag = [&](const char* name) { return Bool(from, name).value_or(false); };
  BridgeConfig config;
  config.bridge = String(from, "bridge");
  if (config.bridge.empty()) config.bridge = "cni0";
  try {
    CheckInterfaceName(config.bridge);
  } catch (const Error& error) {
    Fail("invalid bridge \"" + config.bridge + "\"", error.what());
  }
  config.isDefaultGateway = flag("isDefaultGateway");
  config.isGateway = config.isDefaultGateway || flag("isGateway");
  config.forceAddress = flag("forceAddress");
  config.ipMasq = flag("ipMasq");
  config.backend = ParseBackend(String(from, "ipMasqBackend"), "ipmasq backend");
  config.hairpin = flag("hairpinMode");
  config.promisc = flag("promiscMode");
  config.macSpoofCheck = flag("macspoofchk");
  config.ipSpoofCheck = flag("ipspoofchk");
  config.portIsolation = flag("portIsolation");
  config.containerInterface = !flag("disableContainerInterface");
  config.duplicateAddressDetection = flag("enabledad");
  const int64_t mtu = Integer(from, "mtu").value_or(0);
  if (mtu < 0 || mtu > 65535) Fail("invalid mtu " + std::to_string(mtu), "mtu must be from 0 (the kernel's choice) to 65535");
  if (mtu > 0) config.mtu = static_cast<uint32_t>(mtu);
  config.vlan = VlanId(from, "vlan", 0);
  config.trunk = ParseTrunk(from);
  config.mac = RequestedMac(request);
  if (const json::Value* dns = Object(from, "dns")) config.dns = Dns::Parse(*dns);
  if (config.hairpin && config.promisc) Fail("cannot set hairpin mode and promiscuous mode at the same time");
  if (config.vlan != 0 && !config.trunk.empty()) Fail("cannot set vlan and vlanTrunk at the same time");
  if (config.ipSpoofCheck && !config.trunk.empty())
    Fail("cannot set ipspoofchk and vlanTrunk at the same time: addresses behind tags are not checked");
  if (!config.containerInterface && Object(from, "ipam") != nullptr && !String(*Object(from, "ipam"), "type").empty())
    Fail("cannot use IPAM when disableContainerInterface flag is set");
  return config;
}

}  // namespace trellis::cni
