// The numbers ipset answers with besides errno, as the kernel's names and as sentences.
// Guarantees: numbers that mean different things for different set types are told apart.
#pragma once

namespace trellis {

struct IpsetError {
  int number;
  const char* name;  // "IPSET_ERR_BUSY", as linux/netfilter/ipset/ip_set.h has it
  const char* sentence;
};

// ipset's own numbers start here, above every errno.
inline constexpr int kIpsetErrors = 4096;
// From here each kind of set type counts anew, so the same number has three meanings.
inline constexpr int kIpsetTypeErrors = 4352;
// What is added to a number of bitmap and list types to make it one of a kind.
inline constexpr int kIpsetBitmapErrors = 256;
inline constexpr int kIpsetListErrors = 512;

// Null for a number that is not ipset's, or newer than this table.
const IpsetError* FindIpsetError(int number);

}  // namespace trellis
