// The CNI_* variables a runtime passes.
// Guarantees: what a command needs is there and well-formed, or an Error says which variable is wrong.
#pragma once
#include <map>
#include <string>

namespace trellis::cni {

enum class Command { Add, Del, Check, Gc, Status, Version };

struct Environment {
  Command command;
  std::string containerId;
  std::string netns;
  std::string interfaceName;
  std::string path;
  std::map<std::string, std::string> arguments;  // of CNI_ARGS
  bool netnsOverride = false;                    // the container's namespace may be the one we run in

  // Reads and checks the process's environment.
  static Environment Read();
};

// Throws Error InvalidEnvironment for a name that no interface can have.
void CheckInterfaceName(const std::string& name);
// Reads CNI_ARGS: "K1=V1;K2=V2".
std::map<std::string, std::string> ParseArguments(const std::string& text);

}  // namespace trellis::cni
