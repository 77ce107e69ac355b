#include "vxlan/vxlan.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/guard.h"
#include "cni/error.h"
#include "cni/fault.h"
#include "cni/fields.h"
#include "vxlan/config.h"
#include "vxlan/delegate.h"
#include "vxlan/device.h"
#include "vxlan/saved.h"

namespace trellis::cni {

namespace {

Result AddToOverlay(const Request& request) {
  const VxlanConfig config = VxlanConfig::Parse(request);
  const SubnetFile subnet = SubnetFile::Read(config.subnetFile);
  const std::string text = ComposeDelegate(request, &subnet);
  const Delegate delegate(request, text);
  if (config.device) EnsureDevice(*config.device, subnet.mtu);
  FaultPoint("device");

  // Saved first, so that DEL knows what to undo wherever ADD ends. What an earlier ADD of the container saved stays.
  const SavedDelegates saved(config.dataDir);
  const bool isFirst = !saved.Find(request.env.containerId);
  saved.Save(request.env.containerId, text);
  Guard forget([&] {
    if (isFirst) saved.Remove(request.env.containerId);
  });
  FaultPoint("saved");
  Result result = delegate.Add();
  forget.Dismiss();
  return result;
}

// The subnet file, where it is there and makes sense: a DEL does without.
std::optional<SubnetFile> FindSubnet(const std::string& path) {
  try {
    return SubnetFile::Read(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string ComposeForDel(const Request& request, const VxlanConfig& config) {
  const auto subnet = FindSubnet(config.subnetFile);
  return ComposeDelegate(request, subnet ? &*subnet : nullptr);
}

// What ADD saved, read back into `delegate`. False when it is not there, or of no use: flannel's plugin does not write its
// file aside, so that one may be torn.
bool ReadSaved(const Request& request, const SavedDelegates& saved, std::optional<Delegate>& delegate) {
  const auto text = saved.Find(request.env.containerId);
  if (!text) return false;
  try {
    delegate.emplace(request, *text);
    return true;
  } catch (const json::ParseError&) {
    return false;
  } catch (const Error&) {
    return false;
  }
}

void RemoveFromOverlay(const Request& request) {
  const VxlanConfig config = VxlanConfig::Parse(request);
  const SavedDelegates saved(config.dataDir);
  std::optional<Delegate> delegate;
  if (!ReadSaved(request, saved, delegate)) delegate.emplace(request, ComposeForDel(request, config));
  delegate->Del();
  FaultPoint("deleted");
  saved.Remove(request.env.containerId);
}

// Pods keep their addresses when the daemon gets another subnet for the node, but nobody can reach them any more.
void RequireInSubnet(const Request& request, const VxlanConfig& config, const SubnetFile& subnet) {
  for (const Ip& ip : request.previous->ips)
    if (!subnet.Holds(ip.address.address))
      throw Error(Code::Internal, ip.address.ToString() + " is not in the node's subnet (any more)",
                  config.subnetFile + " has " + subnet.subnets[0].ToString() + "; run DEL and ADD again");
}

void CheckOverlay(const Request& request) {
  const VxlanConfig config = VxlanConfig::Parse(request);
  const SubnetFile subnet = SubnetFile::Read(config.subnetFile);
  if (config.device) RequireDevice(*config.device);
  RequireInSubnet(request, config, subnet);
  std::optional<Delegate> delegate;
  if (!ReadSaved(request, SavedDelegates(config.dataDir), delegate)) delegate.emplace(request, ComposeDelegate(request, &subnet));
  delegate->Check();
}

// Several networks may share the directory; a file that cannot be read is nobody's to remove.
bool IsOfNetwork(const std::string& text, const std::string& network) {
  try {
    const json::Document document(text);
    const json::Value* name = document.root().Find("name");
    return name != nullptr && name->IsString() && name->string() == network;
  } catch (const json::ParseError&) {
    return false;
  }
}

void CollectOverlay(const Request& request) {
  const VxlanConfig config = VxlanConfig::Parse(request);
  const SubnetFile subnet = SubnetFile::Read(config.subnetFile);
  Delegate(request, ComposeDelegate(request, &subnet)).Gc();

  std::set<std::string> valid;
  for (const json::Value* item : List(request.config, "cni.dev/valid-attachments")) valid.insert(String(*item, "containerID"));
  const SavedDelegates saved(config.dataDir);
  for (const std::string& id : saved.ContainerIds()) {
    if (valid.contains(id)) continue;
    const auto text = saved.Find(id);
    if (text && IsOfNetwork(*text, request.network)) saved.Remove(id);
  }
}

void OverlayStatus(const Request& request) {
  const VxlanConfig config = VxlanConfig::Parse(request);
  try {
    const SubnetFile subnet = SubnetFile::Read(config.subnetFile);
    // Not that it is there: a node that is not ready until the first ADD would never get one.
    if (config.device) RequireDevicePossible(*config.device);
    Delegate(request, ComposeDelegate(request, &subnet)).Status();
  } catch (const Error& error) {
    throw Error(Code::PluginNotAvailable, error.what(), error.details());
  }
}

}  // namespace

const Plugin kVxlan = {"vxlan",      "joins a container to an overlay network of several hosts, as flannel does",
                       AddToOverlay, RemoveFromOverlay,
                       CheckOverlay, CollectOverlay,
                       OverlayStatus};

}  // namespace trellis::cni
