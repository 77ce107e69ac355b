// The configuration of portmap, with the ports that a runtime publishes.
// Property: every publication has both its ports and an address; no word of iptables holds a line end.
#include "cni/plugin.h"
#include "fuzz/cni.h"
#include "portmap/config.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::cni;
  static const Environment env{Command::Add, "c1", "/proc/self/ns/net", "eth0", "/opt/cni/bin", {}, false};
  fuzz::Accepts([&] {
    const json::Document document(fuzz::TextOf(input));
    if (!document.root().IsObject()) return;
    cni::Reads([&] {
      const Request request = Request::Read(env, document.root(), fuzz::TextOf(input));
      const auto config = portmap::Config::Parse(request);
      for (const auto* words : {&config.conditionsV4, &config.conditionsV6})
        for (const std::string& word : *words) MUST(word.find_first_of("\r\n") == std::string::npos);
      for (const auto& one : portmap::ParsePublications(request)) {
        MUST(one.hostPort != 0 && one.containerPort != 0);
        MUST(one.container.address.length == 4 || one.container.address.length == 16);
      }
    });
  });
}
