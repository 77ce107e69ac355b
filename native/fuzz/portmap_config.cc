// The configuration of portmap, with the ports that a runtime publishes.
// Property: every publication has both its ports and an address; no word of iptables holds a line end.
#include "fuzz/cni.h"
#include "portmap/config.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::cni;
  ReadsRequest(input, [](const Request& request) {
    const auto config = portmap::Config::Parse(request);
    for (const auto* words : {&config.conditionsV4, &config.conditionsV6})
      for (const std::string& word : *words) MUST(word.find_first_of("\r\n") == std::string::npos);
    for (const auto& one : portmap::ParsePublications(request)) {
      MUST(one.hostPort != 0 && one.containerPort != 0);
      MUST(one.container.address.length == 4 || one.container.address.length == 16);
    }
  });
}
