#include "portmap/config.h"

#include <algorithm>
#include <cctype>

#include "cni/error.h"
#include "cni/fields.h"

namespace trellis::cni::portmap {

namespace {

constexpr int64_t kMaxPort = 65535;
constexpr size_t kMaxChainName = 28;

[[noreturn]] void Fail(const std::string& message, const std::string& details = {}) {
  throw Error(Code::InvalidConfiguration, message, details);
}

// Line ends would begin a new command of iptables-restore.
std::vector<std::string> ParseConditions(const json::Value& from, const char* name) {
  auto words = Strings(from, name);
  for (const std::string& word : words)
    if (word.find_first_of("\r\n") != std::string::npos || word.find('\0') != std::string::npos)
      Fail(std::string(name) + " holds a line end");
  return words;
}

uint16_t Port(const json::Value& from, const char* name, int64_t least) {
  const int64_t port = Integer(from, name).value_or(0);
  if (port < least || port > kMaxPort)
    Fail(std::string(name) + " is " + std::to_string(port) + ", not a port from " + std::to_string(least) + " to 65535");
  return static_cast<uint16_t>(port);
}

std::string Protocol(const json::Value& from) {
  std::string word = String(from, "protocol");
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word.empty()) return "tcp";
  if (word != "tcp" && word != "udp" && word != "sctp") Fail("protocol is \"" + word + "\", not tcp, udp or sctp");
  return word;
}

// The first address of each family that the container's interface has.
std::vector<IpPrefix> ContainerAddresses(const Request& request) {
  std::vector<IpPrefix> addresses;
  const Result& result = *request.previous;
  for (const Ip& ip : result.ips) {
    if (ip.interface && *ip.interface >= 0 && static_cast<size_t>(*ip.interface) < result.interfaces.size()) {
      const Interface& interface = result.interfaces[static_cast<size_t>(*ip.interface)];
      if (interface.name != request.env.interfaceName || interface.sandbox.empty()) continue;
    }
    const auto same = [&](const IpPrefix& other) { return other.address.length == ip.address.address.length; };
    if (std::none_of(addresses.begin(), addresses.end(), same)) addresses.push_back(ip.address);
  }
  return addresses;
}

void Publish(const json::Value& mapping, const std::vector<IpPrefix>& addresses, std::vector<Publication>& to) {
  Publication publication;
  publication.hostPort = Port(mapping, "hostPort", 0);
  if (publication.hostPort == 0) return;
  publication.containerPort = Port(mapping, "containerPort", 1);
  publication.protocol = Protocol(mapping);
  const auto hostIp = Address(mapping, "hostIP");
  // 0.0.0.0 and :: are every address of their family.
  if (hostIp && *hostIp != IpAddress::Zero(hostIp->family())) publication.hostIp = hostIp;
  for (const IpPrefix& address : addresses) {
    if (hostIp && hostIp->length != address.address.length) continue;
    publication.container = address;
    to.push_back(publication);
  }
}

}  // namespace

Backend Config::ChosenBackend() const {
  if (backend) return *backend;
  // These are words of iptables; nothing else can say them.
  if (!conditionsV4.empty() || !conditionsV6.empty() || !externalSetMarkChain.empty()) return Backend::Iptables;
  return DefaultBackend("portmap");
}

Config Config::Parse(const Request& request) {
  const json::Value& from = request.config;
  Config config;
  config.snat = Bool(from, "snat").value_or(true);
  config.masqAll = Bool(from, "masqAll").value_or(false);
  config.externalSetMarkChain = String(from, "externalSetMarkChain");
  config.conditionsV4 = ParseConditions(from, "conditionsV4");
  config.conditionsV6 = ParseConditions(from, "conditionsV6");
  config.backend = ParseBackend(String(from, "backend"), "backend");
  const auto bit = Integer(from, "markMasqBit");
  if (bit && (*bit < 0 || *bit > 31)) Fail("MasqMarkBit must be between 0 and 31", "markMasqBit is " + std::to_string(*bit));
  if (bit && !config.externalSetMarkChain.empty()) Fail("Cannot specify externalSetMarkChain and markMasqBit");
  if (bit) config.markBit = static_cast<unsigned>(*bit);
  const std::string& chain = config.externalSetMarkChain;
  const bool spaced = std::any_of(chain.begin(), chain.end(), [](unsigned char c) { return std::isspace(c) || c == '"'; });
  if (chain.size() > kMaxChainName || spaced) Fail("externalSetMarkChain \"" + chain + "\" is no name of a chain");
  const bool words = !config.conditionsV4.empty() || !config.conditionsV6.empty() || !chain.empty();
  if (words && config.backend == Backend::Nftables)
    Fail("backend nftables cannot have conditionsV4, conditionsV6 or externalSetMarkChain",
         "they are of iptables; leave backend out, or say iptables");
  return config;
}

std::vector<Publication> ParsePublications(const Request& request) {
  std::vector<Publication> publications;
  const json::Value* runtime = Object(request.config, "runtimeConfig");
  if (runtime == nullptr) return publications;
  const auto mappings = List(*runtime, "portMappings");
  if (!mappings.empty() && !request.previous) Fail("Required prevResult missing", "portmap must be called as a chained plugin");
  const auto addresses = mappings.empty() ? std::vector<IpPrefix>() : ContainerAddresses(request);
  for (size_t i = 0; i < mappings.size(); ++i) {
    try {
      Publish(*mappings[i], addresses, publications);
    } catch (const Error& error) {
      Fail("portMappings[" + std::to_string(i) + "]: " + error.what(), error.details());
    }
  }
  return publications;
}

}  // namespace trellis::cni::portmap
