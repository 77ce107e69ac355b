#include "cni/plugin.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni {

namespace {

// Room for some ten thousand published ports. What is read costs up to five times its size.
constexpr size_t kMaxConfiguration = 1024 * 1024;

std::string ReadStandardInput() {
  std::string text;
  char buffer[16 * 1024];
  while (true) {
    const ssize_t size = read(STDIN_FILENO, buffer, sizeof buffer);
    if (size == 0) return text;
    if (size < 0) {
      if (errno == EINTR) continue;
      throw Error(Code::IoFailure, std::string("error reading from stdin: ") + strerror(errno));
    }
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() > kMaxConfiguration) throw Error(Code::FailedToDecode, "the configuration is larger than 1 MiB");
  }
}

void WriteStandardOutput(std::string text) {
  text += '\n';
  for (size_t at = 0; at < text.size();) {
    const ssize_t size = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;  // nobody listens any more
    at += static_cast<size_t>(size);
  }
}

bool IsNetworkName(const std::string& name) {
  if (name.empty() || !std::isalnum(static_cast<unsigned char>(name[0]))) return false;
  for (const unsigned char c : name)
    if (!std::isalnum(c) && c != '_' && c != '.' && c != '-') return false;
  return true;
}

// Two paths of one namespace have the same inode of the same device.
bool IsOwnNamespace(const std::string& path) {
  struct stat theirs {
  }, ours{};
  if (stat(path.c_str(), &theirs) != 0 || stat("/proc/self/ns/net", &ours) != 0) return false;
  return theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

void RequireVersion(Version version, Version least, const char* command) {
  if (version >= least) return;
  throw Error(Code::IncompatibleVersion, std::string("config version does not allow ") + command,
              std::string(command) + " came with version " + std::string(ToString(least)) + "; the configuration is of " +
                  std::string(ToString(version)));
}

std::string WriteVersions(const json::Value* config) {
  const std::string version = config != nullptr ? String(*config, "cniVersion") : std::string();
  json::Writer to;
  to.BeginObject();
  to.Key("cniVersion");
  to.String(version.empty() ? kVersions.back() : std::string_view(version));
  to.Key("supportedVersions");
  to.BeginArray();
  for (const auto known : kVersions) to.String(known);
  to.EndArray();
  to.EndObject();
  return to.Take();
}

std::string WriteError(std::string_view version, const Error& error) {
  json::Writer to;
  to.BeginObject();
  to.Key("cniVersion");
  to.String(version);
  to.Key("code");
  to.Unsigned(static_cast<unsigned>(error.code()));
  to.Key("msg");
  to.String(error.what());
  if (!error.details().empty()) {
    to.Key("details");
    to.String(error.details());
  }
  to.EndObject();
  return to.Take();
}

// Returns what goes to standard output, or nothing.
std::string Do(const Plugin& plugin, const Request& request) {
  const auto call = [&](void (*step)(const Request&)) {
    if (step != nullptr) step(request);
    return std::string();
  };
  switch (request.env.command) {
    case Command::Add: {
      if (!request.env.netnsOverride && IsOwnNamespace(request.env.netns))
        throw Error(Code::InvalidNetNs, "plugin's netns and netns from CNI_NETNS should not be the same");
      json::Writer to;
      plugin.add(request).Write(to, request.version);
      return to.Take();
    }
    case Command::Del:
      // Told to delete from the namespace we run in: that is the host's, and nothing of the container's is in it.
      if (!request.env.netnsOverride && !request.env.netns.empty() && IsOwnNamespace(request.env.netns)) return {};
      return call(plugin.del);
    case Command::Check:
      RequireVersion(request.version, Version::V0_4_0, "CHECK");
      if (!request.previous)
        throw Error(Code::InvalidConfiguration, "Required prevResult missing", "CHECK needs the result of the ADD");
      return call(plugin.check);
    case Command::Gc:
      RequireVersion(request.version, Version::V1_1_0, "GC");
      return call(plugin.gc);
    case Command::Status:
      RequireVersion(request.version, Version::V1_1_0, "STATUS");
      return call(plugin.status);
    case Command::Version:
      break;
  }
  return {};
}

std::string RunCommand(const Plugin& plugin, std::string& version) {
  const Environment env = Environment::Read();
  const std::string input = ReadStandardInput();
  if (env.command == Command::Version && input.find_first_not_of(" \t\r\n") == std::string::npos) return WriteVersions(nullptr);
  try {
    const json::Document document(input);
    if (!document.root().IsObject()) throw Error(Code::FailedToDecode, "the network configuration must be a JSON object");
    if (env.command == Command::Version) return WriteVersions(&document.root());
    const std::string wanted = String(document.root(), "cniVersion");
    ParseVersion(wanted);
    if (!wanted.empty()) version = wanted;
    return Do(plugin, Request::Read(env, document.root(), input));
  } catch (const json::ParseError& error) {
    throw Error(Code::FailedToDecode, std::string("error unmarshalling network config: ") + error.what());
  }
}

}  // namespace

Request Request::Read(const Environment& env, const json::Value& config, std::string_view source) {
  Request request{env, config, source, ParseVersion(String(config, "cniVersion")), String(config, "name"), std::nullopt};
  if (request.network.empty())
    throw Error(Code::InvalidConfiguration, "missing network name", "give the configuration a \"name\"");
  if (!IsNetworkName(request.network))
    throw Error(Code::InvalidConfiguration, "invalid characters found in network name", request.network);
  if (const json::Value* previous = Object(config, "prevResult")) request.previous = Result::Parse(*previous);
  return request;
}

int RunPlugin(const Plugin& plugin) {
  std::string version(kVersions.back());
  try {
    std::string output = RunCommand(plugin, version);
    if (!output.empty()) WriteStandardOutput(std::move(output));
    return 0;
  } catch (const Error& error) {
    WriteStandardOutput(WriteError(version, error));
  } catch (const KernelError& error) {
    WriteStandardOutput(WriteError(version, Error(Code::Internal, error.what(), ErrorName(error.error()))));
  } catch (const std::exception& error) {
    WriteStandardOutput(WriteError(version, Error(Code::Internal, error.what())));
  }
  return 1;
}

}  // namespace trellis::cni
