#include "cni/version.h"

#include <algorithm>

#include "cni/error.h"

namespace trellis::cni {

Version ParseVersion(std::string_view text) {
  if (text.empty()) return Version::V0_1_0;
  const auto found = std::find(kVersions.begin(), kVersions.end(), text);
  if (found == kVersions.end()) {
    std::string known;
    for (const auto version : kVersions) known += (known.empty() ? "" : ", ") + std::string(version);
    throw Error(Code::IncompatibleVersion, "incompatible CNI versions",
                "the configuration is of version '" + std::string(text) + "'; this plugin speaks " + known);
  }
  return static_cast<Version>(found - kVersions.begin());
}

}  // namespace trellis::cni
