// The versions of the CNI specification that we speak, and what each can say.
// Guarantees: configurations and results of every version from 0.1.0 to 1.1.0.
#pragma once
#include <array>
#include <string_view>

namespace trellis::cni {

inline constexpr std::array<std::string_view, 7> kVersions = {"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};

// Ordered: a later version is greater.
enum class Version : int { V0_1_0, V0_2_0, V0_3_0, V0_3_1, V0_4_0, V1_0_0, V1_1_0 };

// Throws Error IncompatibleVersion. An empty text is 0.1.0, as the specification says of configurations without one.
Version ParseVersion(std::string_view text);
inline std::string_view ToString(Version version) { return kVersions[static_cast<size_t>(version)]; }

}  // namespace trellis::cni
