// The plugin that does the work for vxlan: its configuration, made as flannel makes it, and the calls to it.
// Guarantees: bridge is called in this process; any other plugin is run as a program.
#pragma once
#include <string>

#include "cni/execute.h"
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

  Result Add() const { return plugin_.Add(request_); }
  void Del() const { plugin_.Del(request_); }
  void Check() const { plugin_.Check(request_); }
  void Gc() const { plugin_.Gc(request_); }
  void Status() const { plugin_.Status(request_); }

 private:
  std::string text_;
  json::Document document_;
  Request request_;
  CalledPlugin plugin_;
};

}  // namespace trellis::cni
