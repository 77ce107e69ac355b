// IPVS requests, from JSON to a checked request.
// Property: reading one twice gives the same answer, and nothing but an InputError refuses it.
#include "fuzz/fuzz.h"
#include "netlink/ipvs/family.h"

FUZZ_TARGET {
  using namespace trellis;
  const auto read = [&] {
    return fuzz::Accepts([&] {
      const json::Document document(fuzz::TextOf(input));
      if (document.root().IsObject()) netlink::IpvsRequest::Read(document.root());
    });
  };
  MUST(read() == read());
}
