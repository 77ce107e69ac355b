// Address management on behalf of an interface plugin: host-local in this process, any other plugin as a program.
// Guarantees: the same calls and errors for both.
#pragma once
#include "cni/plugin.h"

namespace trellis::cni {

// The IPAM plugin that a configuration names.
class Ipam {
 public:
  explicit Ipam(const Request& request);

  // False when the configuration has no IPAM type: a network of the second layer only.
  explicit operator bool() const { return !type_.empty(); }
  Result Add() const;
  void Del() const;
  void Check() const;
  void Gc() const;
  void Status() const;

 private:
  std::string Execute(const char* command) const;
  bool IsInProcess() const { return type_ == "host-local"; }

  const Request& request_;
  std::string type_;
};

}  // namespace trellis::cni
