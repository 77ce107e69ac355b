#include "cni/result.h"

#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni {

namespace {

void WriteString(json::Writer& to, const char* name, const std::string& value) {
  if (value.empty()) return;
  to.Key(name);
  to.String(value);
}

void WriteStrings(json::Writer& to, const char* name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  to.Key(name);
  to.BeginArray();
  for (const auto& value : values) to.String(value);
  to.EndArray();
}

void WriteNumber(json::Writer& to, const char* name, const std::optional<int64_t>& value) {
  if (!value) return;
  to.Key(name);
  to.Integer(*value);
}

void WriteRoute(json::Writer& to, const Route& route, Version version) {
  to.BeginObject();
  WriteString(to, "dst", route.destination.ToString());
  if (route.gateway) WriteString(to, "gw", route.gateway->ToString());
  if (version >= Version::V1_1_0) {
    WriteNumber(to, "mtu", route.mtu);
    WriteNumber(to, "advmss", route.advmss);
    WriteNumber(to, "priority", route.priority);
    WriteNumber(to, "table", route.table);
    WriteNumber(to, "scope", route.scope);
  }
  to.EndObject();
}

void WriteRoutes(json::Writer& to, const std::vector<Route>& routes, Version version, int family) {
  bool open = false;
  for (const Route& route : routes) {
    if (family != 0 && route.destination.address.family() != family) continue;
    if (!open) {
      to.Key("routes");
      to.BeginArray();
      open = true;
    }
    WriteRoute(to, route, version);
  }
  if (open) to.EndArray();
}

// Up to 0.2.0 a result has one address of each family and knows no interfaces.
void WriteOld(json::Writer& to, const Result& result, Version version) {
  bool some = false;
  for (const auto& [name, length] : {std::pair{"ip4", 4}, {"ip6", 16}}) {
    for (const Ip& ip : result.ips) {
      if (ip.address.address.length != length) continue;
      some = true;
      to.Key(name);
      to.BeginObject();
      WriteString(to, "ip", ip.address.ToString());
      if (ip.gateway) WriteString(to, "gateway", ip.gateway->ToString());
      WriteRoutes(to, result.routes, version, ip.address.address.family());
      to.EndObject();
      break;
    }
  }
  if (!some)
    throw Error(Code::IncompatibleVersion, "cannot convert: no valid IP addresses",
                "results of version " + std::string(ToString(version)) + " must hold one");
}

void WriteInterface(json::Writer& to, const Interface& interface, Version version) {
  to.BeginObject();
  to.Key("name");
  to.String(interface.name);
  WriteString(to, "mac", interface.mac);
  if (version >= Version::V1_1_0) WriteNumber(to, "mtu", interface.mtu);
  WriteString(to, "sandbox", interface.sandbox);
  if (version >= Version::V1_1_0) {
    WriteString(to, "socketPath", interface.socketPath);
    WriteString(to, "pciID", interface.pciId);
  }
  to.EndObject();
}

void WriteIp(json::Writer& to, const Ip& ip, Version version) {
  to.BeginObject();
  if (version < Version::V1_0_0) WriteString(to, "version", ip.address.address.length == 4 ? "4" : "6");
  WriteNumber(to, "interface", ip.interface);
  WriteString(to, "address", ip.address.ToString());
  if (ip.gateway) WriteString(to, "gateway", ip.gateway->ToString());
  to.EndObject();
}

template <class T>
void WriteList(json::Writer& to, const char* name, const std::vector<T>& list, Version version,
               void (*write)(json::Writer&, const T&, Version)) {
  if (list.empty()) return;
  to.Key(name);
  to.BeginArray();
  for (const T& item : list) write(to, item, version);
  to.EndArray();
}

void ParseOld(const json::Value& from, Result& to) {
  for (const auto name : {"ip4", "ip6"}) {
    const json::Value* part = Object(from, name);
    if (part == nullptr) continue;
    Ip ip;
    ip.address = RequirePrefix(*part, "ip");
    ip.gateway = Address(*part, "gateway");
    to.ips.push_back(ip);
    for (const json::Value* route : List(*part, "routes")) to.routes.push_back(ParseRoute(*route));
  }
}

Interface ParseInterface(const json::Value& from) {
  return {String(from, "name"), String(from, "mac"),        String(from, "sandbox"),
          Integer(from, "mtu"), String(from, "socketPath"), String(from, "pciID")};
}

}  // namespace

Route ParseRoute(const json::Value& from) {
  Route route;
  route.destination = RequirePrefix(from, "dst");
  route.gateway = Address(from, "gw");
  route.mtu = Integer(from, "mtu");
  route.advmss = Integer(from, "advmss");
  route.priority = Integer(from, "priority");
  route.table = Integer(from, "table");
  route.scope = Integer(from, "scope");
  return route;
}

Dns Dns::Parse(const json::Value& from) {
  return {Strings(from, "nameservers"), String(from, "domain"), Strings(from, "search"), Strings(from, "options")};
}

void Dns::Write(json::Writer& to) const {
  to.BeginObject();
  WriteStrings(to, "nameservers", nameservers);
  WriteString(to, "domain", domain);
  WriteStrings(to, "search", search);
  WriteStrings(to, "options", options);
  to.EndObject();
}

Result Result::Parse(const json::Value& from) {
  const Version version = ParseVersion(String(from, "cniVersion"));
  Result result;
  if (version <= Version::V0_2_0) {
    ParseOld(from, result);
  } else {
    for (const json::Value* item : List(from, "interfaces")) result.interfaces.push_back(ParseInterface(*item));
    for (const json::Value* item : List(from, "ips"))
      result.ips.push_back({Integer(*item, "interface"), RequirePrefix(*item, "address"), Address(*item, "gateway")});
    for (const json::Value* item : List(from, "routes")) result.routes.push_back(ParseRoute(*item));
  }
  if (const json::Value* dns = Object(from, "dns")) result.dns = Dns::Parse(*dns);
  return result;
}

void Result::Write(json::Writer& to, Version version) const {
  to.BeginObject();
  to.Key("cniVersion");
  to.String(ToString(version));
  if (version <= Version::V0_2_0) {
    WriteOld(to, *this, version);
  } else {
    WriteList(to, "interfaces", interfaces, version, WriteInterface);
    WriteList(to, "ips", ips, version, WriteIp);
    WriteList(to, "routes", routes, version, WriteRoute);
  }
  to.Key("dns");
  dns.Write(to);
  to.EndObject();
}

}  // namespace trellis::cni
