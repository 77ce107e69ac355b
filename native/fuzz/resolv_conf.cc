// resolv.conf(5), as host-local reads it for a result.
// Property: every word is one word.
#include "fuzz/fuzz.h"
#include "host-local/resolv_conf.h"

FUZZ_TARGET {
  using namespace trellis;
  const cni::Dns dns = cni::ParseResolvConf(fuzz::TextOf(input));
  const auto isWord = [](const std::string& word) {
    return !word.empty() && word.find_first_of(" \t\n\v\f\r") == std::string::npos;
  };
  for (const auto* words : {&dns.nameservers, &dns.search, &dns.options})
    for (const std::string& word : *words) MUST(isWord(word));
  MUST(dns.domain.empty() || isWord(dns.domain));
}
