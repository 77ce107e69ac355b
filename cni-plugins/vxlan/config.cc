#include "vxlan/config.h"

#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni {

namespace {

constexpr const char* kSubnetFile = "/run/flannel/subnet.env";  // where flanneld writes it
constexpr const char* kDataDir = "/var/lib/cni/flannel";        // where flannel's plugin has it: either can take over

[[noreturn]] void Fail(const std::string& what, const std::string& details) {
  throw Error(Code::InvalidConfiguration, what, details);
}

std::optional<int64_t> InRange(const json::Value& section, const char* name, int64_t most) {
  const auto value = Integer(section, name);
  if (value && (*value < 1 || *value > most))
    Fail("invalid vxlan " + std::string(name) + " " + std::to_string(*value),
         std::string(name) + " must be between 1 and " + std::to_string(most));
  return value;
}

DeviceConfig ParseDevice(const json::Value& section) {
  DeviceConfig device;
  device.name = String(section, "name");
  if (const auto vni = InRange(section, "vni", 0xFFFFFF)) device.vni = static_cast<uint32_t>(*vni);
  if (const auto port = InRange(section, "port", 0xFFFF)) device.port = static_cast<uint16_t>(*port);
  device.local = Address(section, "local");
  device.dev = String(section, "dev");
  if (device.name.empty() && !device.vni)
    Fail("the vxlan section says neither name nor vni", "give a \"name\", and a \"vni\" if the device is to be made");
  if (device.name.empty()) device.name = "trellis." + std::to_string(*device.vni);
  if (device.name.size() > 15)
    Fail("the VXLAN device's name " + device.name + " is longer than 15 characters", "choose a shorter \"name\"");
  return device;
}

// As flannel does it: what it sets itself cannot be set.
void CheckDelegate(const json::Value& delegate) {
  String(delegate, "type");
  for (const char* name : {"name", "ipam"})
    if (delegate.Find(name) != nullptr)
      Fail("'delegate' dictionary must not have '" + std::string(name) + "' field",
           std::string("move \"") + name + "\" beside \"delegate\"");
}

}  // namespace

VxlanConfig VxlanConfig::Parse(const Request& request) {
  const json::Value& from = request.config;
  VxlanConfig config;
  config.subnetFile = String(from, "subnetFile");
  if (config.subnetFile.empty()) config.subnetFile = kSubnetFile;
  config.dataDir = String(from, "dataDir");
  if (config.dataDir.empty()) config.dataDir = kDataDir;
  if (const json::Value* section = Object(from, "vxlan")) config.device = ParseDevice(*section);
  if (const json::Value* delegate = Object(from, "delegate")) CheckDelegate(*delegate);
  return config;
}

}  // namespace trellis::cni
