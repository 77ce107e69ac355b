#include "session/family.h"

#include <cerrno>

#include "base/error.h"
#include "netlink/conntrack/family.h"
#include "netlink/ipset/family.h"
#include "netlink/ipvs/family.h"
#include "netlink/nftables/family.h"
#include "netlink/route/family.h"
#include "xtables/family.h"

namespace trellis {

namespace {

constexpr size_t kChunkSize = 64 * 1024;

bool IsTrue(const json::Value& request, std::string_view name) {
  const json::Value* value = request.Find(name);
  return value != nullptr && value->boolean();
}

}  // namespace

void ObjectSink::Add(const std::function<void(json::Writer&)>& write) {
  if (!open_) {
    writer_.BeginArray();
    open_ = true;
  }
  write(writer_);
  if (writer_.size() >= kChunkSize) Close();
}

void ObjectSink::Close() {
  if (!open_) return;
  writer_.EndArray();
  chunks_.push_back(writer_.Take());
  open_ = false;
}

std::vector<std::string> ObjectSink::Take() {
  Close();
  return std::exchange(chunks_, {});
}

std::unique_ptr<Family> OpenFamily(std::string_view name, const NetNs& ns) {
  if (name == "route") return std::make_unique<netlink::RouteFamily>(ns);
  if (name == "conntrack") return std::make_unique<netlink::ConntrackFamily>(ns);
  if (name == "ipset") return std::make_unique<netlink::IpsetFamily>(ns);
  if (name == "ipvs") return std::make_unique<netlink::IpvsFamily>(ns);
  if (name == "nftables") return std::make_unique<netlink::NftFamily>(ns);
  if (name == "xtables") return std::make_unique<XtablesFamily>(ns);
  throw InputError("no family of kernel objects is called '" + std::string(name) + "'");
}

std::string DescribeRequest(const json::Value& request) {
  std::string text;
  auto append = [&](std::string_view part) {
    if (!text.empty()) text += ' ';
    // A control character would cut or garble the message that this becomes part of.
    for (const char c : part) text += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  };
  for (const auto word : {"do", "kind"})
    if (const auto* value = request.Find(word); value != nullptr && value->IsString()) append(value->string());
  for (const auto field :
       {"name", "index", "address", "destination", "mac", "dev", "handle", "priority", "set", "chain", "table"}) {
    const auto* value = request.Find(field);
    if (value == nullptr) continue;
    if (value->IsString()) append(value->string());
    else if (value->IsInteger()) append(std::to_string(value->integer()));
    else continue;
    break;
  }
  return text;
}

bool IsAllowed(const json::Value& request, int error) {
  if (IsTrue(request, "existsOk")) return error == EEXIST;
  if (IsTrue(request, "missingOk"))
    return error == ENOENT || error == ENODEV || error == ESRCH || error == EADDRNOTAVAIL || error == ENXIO;
  return false;
}

}  // namespace trellis
