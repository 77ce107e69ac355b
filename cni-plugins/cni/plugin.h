// What a plugin is: a name and what it does for each command.
// Guarantees: a plugin sees only requests whose environment and configuration are well-formed.
#pragma once
#include <optional>
#include <string>

#include "base/json.h"
#include "cni/environment.h"
#include "cni/result.h"
#include "cni/version.h"

namespace trellis::cni {

struct Request {
  const Environment& env;
  const json::Value& config;
  std::string_view source;  // the configuration's text, for plugins that pass it on
  Version version;
  std::string network;             // the configuration's name
  std::optional<Result> previous;  // prevResult

  // Reads what every plugin needs of a configuration. Throws Error.
  static Request Read(const Environment& env, const json::Value& config, std::string_view source);
};

// Functions that are null are commands with nothing to do: they succeed.
struct Plugin {
  const char* name;
  const char* about;
  Result (*add)(const Request&);
  void (*del)(const Request&);
  void (*check)(const Request&);
  void (*gc)(const Request&);
  void (*status)(const Request&);
};

// Runs one command as the environment and standard input say, writes the result or the error to standard output, and
// returns the exit code.
int RunPlugin(const Plugin& plugin);

}  // namespace trellis::cni
