#include "cni/environment.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cni/error.h"

namespace trellis::cni {

namespace {

constexpr size_t kInterfaceNameSize = 16;

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

Command ReadCommand() {
  constexpr std::pair<std::string_view, Command> kCommands[] = {{"ADD", Command::Add},       {"DEL", Command::Del},
                                                                {"CHECK", Command::Check},   {"GC", Command::Gc},
                                                                {"STATUS", Command::Status}, {"VERSION", Command::Version}};
  const std::string word = Variable("CNI_COMMAND");
  if (word.empty()) throw Error(Code::InvalidEnvironment, "required env variables [CNI_COMMAND] missing");
  for (const auto& [name, command] : kCommands)
    if (name == word) return command;
  throw Error(Code::InvalidEnvironment, "unknown CNI_COMMAND: " + word, "it is one of ADD, DEL, CHECK, GC, STATUS, VERSION");
}

void Require(const std::vector<std::pair<const char*, const std::string*>>& variables) {
  std::string missing;
  for (const auto& [name, value] : variables)
    if (value->empty()) missing += (missing.empty() ? "" : ",") + std::string(name);
  if (!missing.empty()) throw Error(Code::InvalidEnvironment, "required env variables [" + missing + "] missing");
}

void CheckContainerId(const std::string& id) {
  const bool fits = std::isalnum(static_cast<unsigned char>(id[0])) && std::all_of(id.begin(), id.end(), [](unsigned char c) {
                      return std::isalnum(c) || c == '_' || c == '.' || c == '-';
                    });
  if (!fits) throw Error(Code::InvalidEnvironment, "invalid characters in containerID", id);
}

}  // namespace

void CheckInterfaceName(const std::string& name) {
  if (name.size() >= kInterfaceNameSize)
    throw Error(Code::InvalidEnvironment, "interface name is too long",
                "interface name should be less than " + std::to_string(kInterfaceNameSize) + " characters");
  if (name == "." || name == "..") throw Error(Code::InvalidEnvironment, "interface name is . or ..");
  for (const unsigned char c : name)
    // The kernel would fill a name in where a percent sign stands, and the interface would have another.
    if (c == '/' || c == ':' || c == '%' || std::isspace(c))
      throw Error(Code::InvalidEnvironment, "interface name contains / or : or % or whitespace characters");
}

// "K1=V1;K2=V2". Runtimes pass their own keys too, so unknown ones are kept and ignored.
std::map<std::string, std::string> ParseArguments(const std::string& text) {
  std::map<std::string, std::string> arguments;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string pair = text.substr(at, end - at);
    const size_t equals = pair.find('=');
    if (equals == std::string::npos)
      throw Error(Code::InvalidEnvironment, "CNI_ARGS: invalid pair \"" + pair + "\"",
                  "CNI_ARGS is a list of KEY=VALUE, separated by semicolons");
    arguments[pair.substr(0, equals)] = pair.substr(equals + 1);
    at = end + 1;
  }
  return arguments;
}

Environment Environment::Read() {
  Environment env{
      ReadCommand(), Variable("CNI_CONTAINERID"), Variable("CNI_NETNS"), Variable("CNI_IFNAME"), Variable("CNI_PATH"), {}, false};
  switch (env.command) {
    case Command::Add:
    case Command::Check:
      Require({{"CNI_CONTAINERID", &env.containerId},
               {"CNI_NETNS", &env.netns},
               {"CNI_IFNAME", &env.interfaceName},
               {"CNI_PATH", &env.path}});
      break;
    case Command::Del:
      Require({{"CNI_CONTAINERID", &env.containerId}, {"CNI_IFNAME", &env.interfaceName}, {"CNI_PATH", &env.path}});
      break;
    case Command::Gc:
    case Command::Status:
      Require({{"CNI_PATH", &env.path}});
      break;
    case Command::Version:
      return env;
  }
  if (!env.containerId.empty()) CheckContainerId(env.containerId);
  if (!env.interfaceName.empty()) CheckInterfaceName(env.interfaceName);
  env.arguments = ParseArguments(Variable("CNI_ARGS"));
  const std::string override = Variable("CNI_NETNS_OVERRIDE");
  env.netnsOverride =
      override == "1" || override == "true" || override == "TRUE" || override == "True" || override == "t" || override == "T";
  return env;
}

}  // namespace trellis::cni
