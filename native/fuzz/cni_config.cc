// Network configurations as the CNI plugins read them, with the result of the plugin before.
// Property: what is refused is refused as a CNI error; a result that is read, written and read again says the same.
#include "bridge/config.h"
#include "fuzz/cni.h"
#include "host-local/config.h"

namespace trellis::cni {

namespace {

std::string TextOf(const Result& result, Version version) {
  json::Writer to;
  result.Write(to, version);
  return to.Take();
}

void CheckResult(const Result& result) {
  for (size_t i = 0; i < kVersions.size(); ++i) {
    Reads([&] {
      const auto version = static_cast<Version>(i);
      const std::string text = TextOf(result, version);
      const json::Document written(text);
      MUST(TextOf(Result::Parse(written.root()), version) == text);
    });
  }
}

// A range hands out only what is its own.
void CheckRanges(const IpamConfig& config) {
  for (const RangeSet& set : config.sets) {
    int offered = 0;
    set.Walk(std::nullopt, [&](const IpAddress& address) {
      MUST(set.Find(address) != nullptr);
      return ++offered == 100;
    });
  }
}

}  // namespace

}  // namespace trellis::cni

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::cni;
  ReadsRequest(input, [](const Request& request) {
    if (request.previous) CheckResult(*request.previous);
    cni::Reads([&] { BridgeConfig::Parse(request); });
    cni::Reads([&] { CheckRanges(IpamConfig::Parse(request)); });
  });
}
