#include "host-local/resolv_conf.h"

#include <sstream>
#include <string>

namespace trellis::cni {

Dns ParseResolvConf(std::string_view text) {
  Dns dns;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key) || key[0] == '#' || key[0] == ';') continue;
    std::vector<std::string> values;
    for (std::string word; words >> word;) values.push_back(word);
    if (values.empty()) continue;
    if (key == "nameserver") dns.nameservers.push_back(values[0]);
    else if (key == "domain") dns.domain = values[0];
    else if (key == "search") dns.search.insert(dns.search.end(), values.begin(), values.end());
    else if (key == "options") dns.options.insert(dns.options.end(), values.begin(), values.end());
  }
  return dns;
}

}  // namespace trellis::cni
