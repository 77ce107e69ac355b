// The numbers ipset answers with besides errno, as the kernel's names and as sentences.
// Guarantees: numbers that mean different things for different set types are told apart.
#pragma once

#include "base/error.h"

namespace trellis::netlink {

// From here each kind of set type counts anew, so the same number has three meanings.
inline constexpr int kIpsetTypeErrors = kFamilyErrors + 256;
// What is added to a number of bitmap and list types to make it one of a kind.
inline constexpr int kIpsetBitmapErrors = 256;
inline constexpr int kIpsetListErrors = 512;

}  // namespace trellis::netlink
