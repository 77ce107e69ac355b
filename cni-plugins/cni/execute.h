// Calls another plugin, as a plugin that delegates must: one of ours in this process, any other as a program, found in
// CNI_PATH, with the same environment.
// Guarantees: the same calls and errors for both; a program does not outlive us.
#pragma once
#include <string>

#include "cni/plugin.h"

namespace trellis::cni {

class CalledPlugin {
 public:
  // `kind` is for messages: "IPAM", "delegate".
  CalledPlugin(std::string type, const Plugin& ours, const char* kind);

  // False when no plugin is named.
  explicit operator bool() const { return !type_.empty(); }
  Result Add(const Request& request) const;
  void Del(const Request& request) const { Call(request, "DEL", ours_.del); }
  void Check(const Request& request) const { Call(request, "CHECK", ours_.check); }
  void Gc(const Request& request) const { Call(request, "GC", ours_.gc); }
  void Status(const Request& request) const { Call(request, "STATUS", ours_.status); }

 private:
  bool IsOurs() const { return type_ == ours_.name; }
  void Call(const Request& request, const char* command, void (*inProcess)(const Request&)) const;
  std::string Execute(const Request& request, const char* command) const;

  std::string type_;
  const Plugin& ours_;
  std::string kind_;
};

}  // namespace trellis::cni
