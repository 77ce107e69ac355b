// The result of an ADD, in the form of the newest version, and its way from and to every older one.
// Guarantees: what a version cannot say is left out, never guessed.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/json.h"
#include "cni/version.h"

namespace trellis::cni {

struct Interface {
  std::string name;
  std::string mac;
  std::string sandbox;
  std::optional<int64_t> mtu;
  std::string socketPath;
  std::string pciId;
};

struct Ip {
  std::optional<int64_t> interface;  // index into interfaces
  IpPrefix address;
  std::optional<IpAddress> gateway;
};

struct Route {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  std::optional<int64_t> mtu, advmss, priority, table, scope;
};

struct Dns {
  std::vector<std::string> nameservers;
  std::string domain;
  std::vector<std::string> search;
  std::vector<std::string> options;

  bool empty() const { return nameservers.empty() && domain.empty() && search.empty() && options.empty(); }
  static Dns Parse(const json::Value& from);
  void Write(json::Writer& to) const;
};

struct Result {
  std::vector<Interface> interfaces;
  std::vector<Ip> ips;
  std::vector<Route> routes;
  Dns dns;

  // Reads a result of the version it names itself. Throws Error FailedToDecode.
  static Result Parse(const json::Value& from);
  // Writes it as `version` wants it. Throws Error IncompatibleVersion where the version cannot hold it.
  void Write(json::Writer& to, Version version) const;
};

// One route of a configuration or a result: {"dst": "...", "gw": "..."}.
Route ParseRoute(const json::Value& from);

}  // namespace trellis::cni
