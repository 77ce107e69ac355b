#include "xtables/family.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace trellis {

namespace {

struct Size {
  unsigned entries, bytes;
};

template <class Info>
Size Ask(int socket, int level, int option, std::string_view table) {
  Info info{};
  std::memcpy(info.name, table.data(), table.size());
  socklen_t length = sizeof info;
  if (getsockopt(socket, level, option, &info, &length) != 0) ThrowErrno("look at table " + std::string(table));
  return {info.num_entries, info.size};
}

std::string_view TextOf(const json::Value& query, std::string_view field) {
  const json::Value* value = query.Find(field);
  if (value == nullptr || !value->IsString()) throw InputError("field '" + std::string(field) + "' must be text");
  return value->string;
}

}  // namespace

std::vector<Refusal> XtablesFamily::Apply(const Requests&) { throw InputError("legacy tables are only looked at"); }

int XtablesFamily::SocketOf(int domain) {
  Fd& fd = domain == AF_INET ? four_ : six_;
  if (!fd)
    ns_.Run([&] {
      fd = Fd(::socket(domain, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
      if (!fd) ThrowErrno("open a raw socket");
    });
  return fd.get();
}

void XtablesFamily::Query(const json::Value& query, ObjectSink& sink) {
  const std::string_view family = TextOf(query, "family"), name = TextOf(query, "name");
  if (TextOf(query, "kind") != "table") throw InputError("field 'kind' must be table");
  if (family != "ip" && family != "ip6") throw InputError("field 'family' must be ip or ip6");
  if (name.empty() || name.size() >= XT_TABLE_MAXNAMELEN) throw InputError("field 'name' must be 1 to 31 bytes long");
  const Size size = family == "ip" ? Ask<ipt_getinfo>(SocketOf(AF_INET), IPPROTO_IP, IPT_SO_GET_INFO, name)
                                   : Ask<ip6t_getinfo>(SocketOf(AF_INET6), IPPROTO_IPV6, IP6T_SO_GET_INFO, name);
  sink.Add([&](json::Writer& to) {
    to.BeginObject();
    to.Key("entries");
    to.Unsigned(size.entries);
    to.Key("size");
    to.Unsigned(size.bytes);
    to.EndObject();
  });
}

}  // namespace trellis
