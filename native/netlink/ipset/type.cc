#include "netlink/ipset/type.h"

#include <string>

#include "netlink/ipset/error.h"

namespace trellis::netlink {

namespace {

using enum EntryPart;

constexpr SetType kTypes[] = {
    {"hash:ip", SetMethod::Hash, 4, false, {Address}},
    {"hash:ip,port", SetMethod::Hash, 5, false, {Address, Protocol}},
    {"hash:ip,port,ip", SetMethod::Hash, 5, false, {Address, Protocol, SecondAddress}},
    {"hash:ip,port,net", SetMethod::Hash, 7, true, {Address, Protocol, SecondNet}},
    {"hash:ip,mark", SetMethod::Hash, 2, false, {Address, Mark}},
    {"hash:net", SetMethod::Hash, 6, true, {Address}},
    {"hash:net,port", SetMethod::Hash, 7, true, {Address, Protocol}},
    {"hash:net,net", SetMethod::Hash, 2, true, {Address, SecondNet}},
    {"hash:net,port,net", SetMethod::Hash, 2, true, {Address, Protocol, SecondNet}},
    {"hash:net,iface", SetMethod::Hash, 6, true, {Address, Interface}},
    {"bitmap:port", SetMethod::Bitmap, 3, false, {Port}},
    {"list:set", SetMethod::List, 3, false, {SetName}},
};

}  // namespace

const SetType* FindSetType(std::string_view name) {
  for (const SetType& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

std::string_view KnownSetTypes() {
  static const std::string list = [] {
    std::string text;
    for (const SetType& type : kTypes) text.append(text.empty() ? "" : "; ").append(type.name);
    return text;
  }();
  return list;
}

int UniqueSetError(int error, SetMethod method) {
  if (error < kIpsetTypeErrors) return error;
  switch (method) {
    case SetMethod::Bitmap:
      return error + kIpsetBitmapErrors;
    case SetMethod::List:
      return error + kIpsetListErrors;
    default:
      return error;
  }
}

}  // namespace trellis::netlink
