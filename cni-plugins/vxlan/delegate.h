// The plugin that does the work for vxlan: its configuration, made as flannel makes it, and the calls to it.
// Guarantees: bridge is called in this process; any other plugin is run as a program.
#pragma once
#include <string>

#include "cni/plugin.h"
#include "vxlan/subnet_file.h"

namespace trellis::cni {

// The delegated configuration, as text that DEL can use later. Without a subnet file (null) it has no IPAM: good enough
// to take away an interface.
std::string ComposeDelegate(const Request& request, const SubnetFile* subnet);

class Delegate {
 public:
  // `text` is what ComposeDelegate made, now or at ADD. Throws json::ParseError.
  Delegate(const Request& request, const std::string& text);
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  Result Add() const;
  void Del() const;
  void Check() const;
  void Gc() const;
  void Status() const;

 private:
  bool IsInProcess() const { return type_ == "bridge"; }
  std::string Execute(const char* command) const;

  std::string text_;
  json::Document document_;
  Request request_;
  std::string type_;
};

}  // namespace trellis::cni
