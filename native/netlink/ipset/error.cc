#include "netlink/ipset/error.h"

namespace trellis {

namespace {

struct IpsetError {
  int number;
  const char* name;  // "IPSET_ERR_BUSY", as linux/netfilter/ipset/ip_set.h has it
  const char* sentence;
};

constexpr int kHash = netlink::kIpsetTypeErrors;
constexpr int kBitmap = netlink::kIpsetTypeErrors + netlink::kIpsetBitmapErrors;
constexpr int kList = netlink::kIpsetTypeErrors + netlink::kIpsetListErrors;

constexpr IpsetError kErrors[] = {
    {4097, "IPSET_ERR_PROTOCOL", "the kernel does not understand the request"},
    {4098, "IPSET_ERR_FIND_TYPE", "this kernel does not have the set type"},
    {4099, "IPSET_ERR_MAX_SETS", "no more sets can be made: the kernel's limit is reached"},
    {4100, "IPSET_ERR_BUSY", "the set is in use by a rule or by a set of type list:set"},
    {4101, "IPSET_ERR_EXIST_SETNAME2", "a set of the new name exists already, or the second set does not exist"},
    {4102, "IPSET_ERR_TYPE_MISMATCH", "the sets differ in type"},
    {4103, "IPSET_ERR_EXIST", "the entry is in the set already, or is not in it"},
    {4104, "IPSET_ERR_INVALID_CIDR", "the prefix length is not one that this set type takes"},
    {4105, "IPSET_ERR_INVALID_NETMASK", "the netmask is not one that this set type takes"},
    {4106, "IPSET_ERR_INVALID_FAMILY", "the set type does not take this address family"},
    {4107, "IPSET_ERR_TIMEOUT", "the set was made without a timeout, so its entries have none"},
    {4108, "IPSET_ERR_REFERENCED", "the set is in use and cannot be renamed"},
    {4109, "IPSET_ERR_IPADDR_IPV4", "an IPv4 address is missing"},
    {4110, "IPSET_ERR_IPADDR_IPV6", "an IPv6 address is missing"},
    {4111, "IPSET_ERR_COUNTER", "the set was made without counters, so its entries have none"},
    {4112, "IPSET_ERR_COMMENT", "the set was made without comments, so its entries have none"},
    {4113, "IPSET_ERR_INVALID_MARKMASK", "the mark's mask is not one that this set type takes"},
    {4114, "IPSET_ERR_SKBINFO", "the set was made without skbinfo, so its entries have none"},
    {4115, "IPSET_ERR_BITMASK_NETMASK_EXCL", "a set has a netmask or a bitmask, not both"},
    {kHash + 0, "IPSET_ERR_HASH_FULL", "the set is full: it holds as many entries as its maxelem allows"},
    {kHash + 1, "IPSET_ERR_HASH_ELEM", "the kernel does not store an address of zeros in this set type"},
    {kHash + 2, "IPSET_ERR_INVALID_PROTO", "the protocol is not one that this set type takes"},
    {kHash + 3, "IPSET_ERR_MISSING_PROTO", "the protocol is missing"},
    {kHash + 4, "IPSET_ERR_HASH_RANGE_UNSUPPORTED", "this set type takes no ranges here"},
    {kHash + 5, "IPSET_ERR_HASH_RANGE", "the range is not one that this set type takes"},
    {kBitmap + 0, "IPSET_ERR_BITMAP_RANGE", "the entry is outside the set's range"},
    {kBitmap + 1, "IPSET_ERR_BITMAP_RANGE_SIZE", "the set's range is larger than 65536"},
    {kList + 0, "IPSET_ERR_NAME", "the set to be put into the list does not exist"},
    {kList + 1, "IPSET_ERR_LOOP", "a list:set cannot hold another list:set"},
    {kList + 2, "IPSET_ERR_BEFORE", "the set to stand before is not named"},
    {kList + 3, "IPSET_ERR_NAMEREF", "the set to stand before or after does not exist"},
    {kList + 4, "IPSET_ERR_LIST_FULL", "the list is full: it holds as many sets as its size allows"},
    {kList + 5, "IPSET_ERR_REF_EXIST", "the set to stand before or after is not in the list, or not at that place"},
};

// Null for a number that is not ipset's, or newer than this table.
const IpsetError* Find(int number) {
  for (const IpsetError& error : kErrors)
    if (error.number == number) return &error;
  return nullptr;
}

}  // namespace

std::string FamilyErrorName(int error) {
  const IpsetError* known = Find(error);
  return known != nullptr ? known->name : "IPSET_ERR_" + std::to_string(error);
}

const char* FamilyErrorSentence(int error) {
  const IpsetError* known = Find(error);
  return known != nullptr ? known->sentence : nullptr;
}

}  // namespace trellis
