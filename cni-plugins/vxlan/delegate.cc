#include "vxlan/delegate.h"

#include "bridge/bridge.h"
#include "cni/compose.h"
#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni {

namespace {

constexpr const char* kPrevious = "prevResult";
constexpr const char* kValid = "cni.dev/valid-attachments";

void Put(json::Writer& to, const char* name, std::string_view value) {
  to.Key(name);
  to.String(value);
}

void WriteRanges(json::Writer& to, const SubnetFile& subnet) {
  to.Key("ranges");
  to.BeginArray();
  for (const IpPrefix& range : subnet.subnets) {
    to.BeginArray();
    to.BeginObject();
    Put(to, "subnet", range.ToString());
    to.EndObject();
    to.EndArray();
  }
  to.EndArray();
}

// The routes that were asked for, then those to all nodes' pods.
void WriteRoutes(json::Writer& to, const json::Value* ipam, const SubnetFile& subnet) {
  to.Key("routes");
  to.BeginArray();
  if (ipam != nullptr)
    for (const json::Value* route : List(*ipam, "routes")) WriteValue(to, *route);
  for (const IpPrefix& network : subnet.networks) {
    to.BeginObject();
    Put(to, "dst", network.ToString());
    to.EndObject();
  }
  to.EndArray();
}

void WriteIpam(json::Writer& to, const json::Value* ipam, const SubnetFile& subnet) {
  to.Key("ipam");
  to.BeginObject();
  if (ipam == nullptr || String(*ipam, "type").empty()) Put(to, "type", "host-local");
  CopyMembers(to, ipam, {"ranges", "routes"});
  WriteRanges(to, subnet);
  WriteRoutes(to, ipam, subnet);
  to.EndObject();
}

bool Has(const json::Value* object, const char* name) { return object != nullptr && object->Find(name) != nullptr; }

std::string TypeOf(const json::Value* delegate) {
  const std::string type = delegate != nullptr ? String(*delegate, "type") : std::string();
  return type.empty() ? "bridge" : type;
}

// The delegated configuration with what belongs to this one call.
std::string ForCall(const Request& request, const std::string& text) {
  const json::Document saved(text);
  if (!saved.root().IsObject()) throw json::ParseError("the delegated configuration must be an object", 1, 1);
  json::Writer to;
  to.BeginObject();
  CopyMembers(to, &saved.root(), {kPrevious, kValid});
  CopyMember(to, request.config, kPrevious);
  CopyMember(to, request.config, kValid);
  to.EndObject();
  return to.Take();
}

}  // namespace

std::string ComposeDelegate(const Request& request, const SubnetFile* subnet) {
  const json::Value* delegate = Object(request.config, "delegate");
  const std::string type = TypeOf(delegate);
  json::Writer to;
  to.BeginObject();
  CopyMember(to, request.config, "cniVersion");
  Put(to, "name", request.network);
  Put(to, "type", type);
  CopyMembers(to, delegate, {"cniVersion", "type", "runtimeConfig", "args"});
  for (const char* name : {"runtimeConfig", "args"}) {
    if (Has(&request.config, name)) CopyMember(to, request.config, name);
    else if (delegate != nullptr) CopyMember(to, *delegate, name);
  }
  if (type == "bridge" && !Has(delegate, "isGateway")) {
    to.Key("isGateway");
    to.Bool(true);
  }
  if (subnet != nullptr) {
    if (!Has(delegate, "ipMasq")) {
      to.Key("ipMasq");
      to.Bool(!subnet->ipMasq);  // if the daemon does not, the bridge must
    }
    if (!Has(delegate, "mtu")) {
      to.Key("mtu");
      to.Unsigned(subnet->mtu);
    }
    WriteIpam(to, Object(request.config, "ipam"), *subnet);
  }
  to.EndObject();
  return to.Take();
}

Delegate::Delegate(const Request& request, const std::string& text)
    : text_(ForCall(request, text)),
      document_(text_),
      request_{request.env,     document_.root(), text_, ParseVersion(String(document_.root(), "cniVersion")),
               request.network, request.previous},
      plugin_(TypeOf(&document_.root()), kBridge, "delegate") {}

}  // namespace trellis::cni
