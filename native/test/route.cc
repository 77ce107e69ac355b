// The rtnetlink objects: request to message to object, and what is refused on the way.
#include "netlink/route/monitor.h"
#include "test/check.h"
#include "test/encode_route.h"
#include "test/item.h"

using namespace trellis;
using namespace trellis::netlink;

namespace {

// The JSON objects that the messages of a request tell of.
std::vector<std::string> Encoded(const std::string& text) {
  const json::Document document(text);
  RouteRequest request = RouteRequest::Read(document.root());
  Batch batch;
  EncodeRoute(request, batch);
  std::vector<std::string> objects;
  ForEachMessage({batch.data(), batch.size()}, [&](const MessageView& message) {
    json::Writer to;
    CHECK(WriteRouteObject(message, to));
    objects.push_back(to.Take());
  });
  return objects;
}

// True when everything `part` says stands in `whole` too.
bool Contains(const json::Value& whole, const json::Value& part) {
  if (whole.type() != part.type() || whole.integer() != part.integer() || whole.boolean() != part.boolean() ||
      whole.string() != part.string())
    return false;
  for (const auto& [name, value] : part.members())
    if (const auto* found = whole.Find(name); found == nullptr || !Contains(*found, value)) return false;
  if (whole.items().size() != part.items().size()) return false;
  for (size_t i = 0; i < part.items().size(); ++i)
    if (!Contains(test::ItemOf(whole, i), test::ItemOf(part, i))) return false;
  return true;
}

void CheckRoundTrip(const std::string& verb, const std::string& fields) {
  const auto objects = Encoded("{\"do\":\"" + verb + "\"," + fields + "}");
  const json::Document part("{" + fields + "}");
  if (!Contains(json::Document(objects[0]).root(), part.root()))
    test::Fail(__FILE__, __LINE__, fields + "\n      came back as " + objects[0]);
}

void CheckRefused(const std::string& request, const std::string& why) {
  const json::Document document(request);
  try {
    RouteRequest::Read(document.root());
  } catch (const InputError& error) {
    if (std::string(error.what()).find(why) != std::string::npos) return;
    test::Fail(__FILE__, __LINE__, request + "\n      says " + error.what());
  }
  test::Fail(__FILE__, __LINE__, request + "\n      is not refused");
}

}  // namespace

TEST("every field of a link comes back from its message") {
  CheckRoundTrip(
      "add",
      R"("kind":"link","name":"a","type":"ifb","mtu":1400,"txQueueLength":5,"group":3,"mac":"02:00:00:00:00:01","master":4,"parent":5,"up":true,"promisc":true,"arp":false,"multicast":false)");
  CheckRoundTrip(
      "replace",
      R"("kind":"link","name":"br0","type":"bridge","bridge":{"forwardDelay":200,"helloTime":1,"maxAge":2,"ageingTime":3,"stpState":1,"priority":4,"groupFwdMask":8,"vlanFiltering":true,"vlanProtocol":33024,"vlanDefaultPvid":1,"mcastSnooping":false,"mcastRouter":1,"mcastQuerier":true,"mcastHashMax":512,"nfCallIptables":true,"nfCallIp6tables":false,"nfCallArptables":true})");
  CheckRoundTrip(
      "add",
      R"("kind":"link","name":"vx0","type":"vxlan","vxlan":{"vni":42,"dev":3,"local":"10.0.0.1","group":"ff05::1","port":4789,"ttl":8,"tos":1,"ageing":9,"limit":10,"df":"inherit","learning":false,"proxy":true,"rsc":true,"l2miss":true,"l3miss":true,"udpCsum":true,"udpZeroCsum6Tx":true,"udpZeroCsum6Rx":true,"collectMetadata":false,"gbp":true})");
  CheckRoundTrip("add", R"("kind":"link","name":"m0","parent":2,"type":"macvlan","macvlan":{"mode":"passthru","flags":1})");
}

TEST("a veth's peer travels in the message of the pair, port options in one of their own") {
  CHECK_EQUAL(
      Encoded(
          R"({"do":"add","kind":"link","name":"a","peer":{"name":"b","index":9,"mtu":1400,"mac":"02:00:00:00:00:02","netns":77}})")
          .size(),
      1u);
  const auto two = Encoded(
      R"({"do":"change","kind":"link","index":3,"alias":"an alias","port":{"state":"forwarding","priority":1,"cost":2,"hairpin":true,"isolated":true,"learning":false,"flood":false,"mcastFlood":false,"bcastFlood":false,"guard":true,"fastLeave":true,"proxyArp":true,"neighSuppress":true}})");
  CHECK_EQUAL(two.size(), 2u);
  CHECK(two[1].find(R"("alias":"an alias")") != std::string::npos);
  CHECK(two[1].find(R"("port":{"state":"forwarding","priority":1,"cost":2,"hairpin":true,"isolated":true,"learning":false)") !=
        std::string::npos);
}

TEST("every field of an address comes back") {
  CheckRoundTrip(
      "add",
      R"("kind":"address","dev":3,"address":"10.0.0.1/24","peer":"10.0.0.2","broadcast":"10.0.0.255","label":"a:1","scope":"link","flags":["nodad","noprefixroute"],"validLifetime":60,"preferredLifetime":30)");
  CheckRoundTrip("replace", R"("kind":"address","dev":3,"address":"fd00::1/64","flags":["nodad","mngtmpaddr"])");
  CheckRoundTrip("change", R"("kind":"address","dev":3,"address":"127.0.0.1/8","scope":"host")");
}

TEST("every field of a route comes back") {
  CheckRoundTrip(
      "add",
      R"("kind":"route","destination":"10.1.0.0/16","gateway":"10.0.0.2","preferredSource":"10.0.0.1","dev":3,"table":"main","metric":5,"type":"unicast","scope":"site","protocol":"static","tos":16,"onlink":true,"metrics":{"mtu":1400,"advmss":1,"window":2,"rtt":3,"initcwnd":4,"initrwnd":5,"hoplimit":6,"lock":4})");
  CheckRoundTrip(
      "replace",
      R"("kind":"route","destination":"fd01::/64","source":"fd02::/64","table":100000,"nextHops":[{"gateway":"fd00::1","dev":3,"weight":256},{"dev":4,"weight":1,"onlink":true}])");
  CheckRoundTrip("add", R"("kind":"route","destination":"10.1.0.0/16","gateway":"fd00::1","dev":3)");
  CheckRoundTrip("add", R"("kind":"route","destination":"10.1.0.0/16","nextHops":[{"gateway":"fd00::1","dev":3,"weight":1}])");
  CheckRoundTrip("add", R"("kind":"route","family":"inet6","destination":"::/0","type":"blackhole")");
  CheckRoundTrip("delete", R"("kind":"route","destination":"0.0.0.0/0")");
}

TEST("every field of a rule comes back") {
  CheckRoundTrip(
      "add",
      R"("kind":"rule","family":"inet","priority":100,"action":"table","table":1000,"mark":1,"mask":255,"source":"10.0.0.0/8","destination":"11.0.0.0/8","inputInterface":"lo","outputInterface":"b","ipProtocol":6,"sourcePort":"10-20","destinationPort":53,"protocol":"static","suppressPrefixLength":8,"tos":16,"invert":true)");
  CheckRoundTrip("add", R"("kind":"rule","family":"inet6","priority":0,"action":"goto","goto":200)");
  CheckRoundTrip("delete", R"("kind":"rule","source":"fd00::/64","priority":7)");
}

TEST("every field of a neighbour comes back") {
  CheckRoundTrip(
      "add",
      R"("kind":"neighbour","family":"inet6","dev":3,"address":"fd00::9","mac":"02:00:00:00:00:09","state":"stale","flags":["router"],"probes":1)");
  CheckRoundTrip(
      "replace",
      R"("kind":"neighbour","family":"bridge","dev":3,"mac":"02:00:00:00:00:09","address":"10.9.9.9","vni":9,"sourceVni":8,"port":4789,"via":4,"vlan":1,"state":"permanent","flags":["self","sticky"])");
}

TEST("every field of a qdisc and a class comes back") {
  CheckRoundTrip(
      "add",
      R"("kind":"qdisc","dev":3,"type":"tbf","handle":"1:","parent":"root","tbf":{"rate":125000,"burst":32000,"limit":64000,"peakRate":250000,"mtu":1600})");
  CheckRoundTrip("add", R"("kind":"qdisc","dev":3,"type":"tbf","tbf":{"rate":6250000000,"burst":10000000})");
  CheckRoundTrip(
      "add",
      R"("kind":"qdisc","dev":3,"type":"htb","handle":"ffff:","parent":"1:10","htb":{"defaultClass":16,"r2q":20,"directQueueLength":5})");
  CheckRoundTrip("add", R"("kind":"qdisc","dev":3,"type":"ingress","parent":"ingress")");
  CheckRoundTrip(
      "replace",
      R"("kind":"class","dev":3,"type":"htb","handle":"1:10","parent":"1:","htb":{"rate":125000,"ceil":6250000000,"burst":1600,"cburst":1600000,"quantum":1500,"priority":2})");
}

TEST("a request must have a verb, a kind and known fields only") {
  CheckRefused("{}", "'do' must be one of add, replace, change, delete");
  CheckRefused(R"({"do":"make","kind":"link"})", "'do' must be one of");
  CheckRefused(R"({"do":4,"kind":"link"})", "'do' must be one of");
  CheckRefused(R"({"do":"add"})", "'kind' must be one of");
  CheckRefused(R"({"do":"add","kind":7})", "'kind' must be one of");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","colour":"red"})", "unknown field 'colour'");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","vxlan":{"vni":1,"colour":1}})", "unknown field 'colour'");
  CheckRefused(R"({"do":"add","kind":"route","destination":"10.0.0.0/8","nextHops":[{"dev":1,"x":1}]})", "unknown field 'x'");
}

TEST("a field of the wrong type or out of range is named") {
  CheckRefused(R"({"do":"add","kind":"link","name":7,"type":"veth"})", "'name' must be a string");
  CheckRefused(R"({"do":"add","kind":"link","name":"a\u0000b","type":"veth"})", "'name' must not hold a NUL");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","mtu":-1})",
               "'mtu' must be a whole number from 0 to 4294967295");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","mtu":4294967296})", "'mtu' must be a whole number");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","mtu":1.5})", "'mtu' must be a whole number");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","up":1})", "'up' must be true or false");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","mac":"x"})", "'mac' must be a hardware address");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","peer":[]})", "'peer' must be an object");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","master":""})", "'master' must name a link");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","netns":0})", "'netns' must be a path or a process id");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","vxlan":{"vni":1,"df":"maybe"}})",
               "'df' must be one of unset, set, inherit");
  CheckRefused(R"({"do":"add","kind":"address","dev":1,"address":"10.0.0.1/33"})", "'address' must be an address with a prefix");
  CheckRefused(R"({"do":"add","kind":"address","dev":1,"address":"10.0.0.1/8","flags":"nodad"})", "'flags' must be a list");
  CheckRefused(R"({"do":"add","kind":"address","dev":1,"address":"10.0.0.1/8","flags":["fast"]})", "knows no 'fast'");
  CheckRefused(R"({"do":"add","kind":"route","destination":"10.0.0.0/8","nextHops":{}})", "'nextHops' must be a list");
  CheckRefused(R"({"do":"add","kind":"rule","table":1,"sourcePort":"20-10"})", "'sourcePort' must be a port or a range");
  CheckRefused(R"({"do":"add","kind":"rule","table":1,"sourcePort":65536})", "'sourcePort' must be a whole number");
  CheckRefused(R"({"do":"add","kind":"qdisc","dev":1,"type":"tbf","handle":"x"})", "'handle' must be");
  CheckRefused(R"({"do":"add","kind":"qdisc","dev":1,"type":"tbf","handle":"10000:"})", "'handle' must be");
}

TEST("names and texts have their limits") {
  CheckRefused(R"({"do":"add","kind":"link","name":"1234567890123456","type":"veth"})",
               "must be 1 to 15 bytes long; '1234567890123456' has 16");
  CheckRefused(R"({"do":"add","kind":"link","name":"","type":"veth"})", "must be 1 to 15 bytes long");
  CheckRefused(R"({"do":"add","kind":"link","name":"a/b","type":"veth"})", "must not hold a slash");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","peer":{"name":"12345678901234567"}})", "'peer.name' must be 1 to 15");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"veth","alias":")" + std::string(256, 'x') + "\"}",
               "at most 255 bytes");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":")" + std::string(70000, 'x') + "\"}",
               "'type' must be 1 to 31 bytes long");
  CheckRefused(R"({"do":"add","kind":"qdisc","dev":1,"type":")" + std::string(70000, 'x') + "\"}",
               "'type' must be 1 to 31 bytes long");
  CheckRefused(R"({"do":"add","kind":"address","dev":1,"address":"10.0.0.1/8","label":"1234567890123456"})",
               "'label' must be 1 to 15");
  CheckRefused(R"({"do":"add","kind":"rule","table":1,"inputInterface":"1234567890123456"})", "'inputInterface' must be 1 to 15");
  std::string hops;
  for (int i = 0; i < 2001; ++i) hops += std::string(i > 0 ? "," : "") + R"({"gateway":"fd00::1"})";
  CheckRefused(R"({"do":"add","kind":"route","destination":"::/0","nextHops":[)" + hops + "]}",
               "'nextHops' must be at most 2000");
}

TEST("families must agree") {
  CheckRefused(R"({"do":"add","kind":"address","dev":1,"address":"10.0.0.1/8","peer":"fd00::1"})",
               "'peer' must be of the address's family");
  CheckRefused(R"({"do":"add","kind":"address","dev":1,"address":"fd00::1/64","broadcast":"10.0.0.1"})",
               "'broadcast' goes with IPv4 only");
  CheckRefused(R"({"do":"add","kind":"route","destination":"fd00::/64","gateway":"10.0.0.1"})", "'gateway' must be IPv6");
  CheckRefused(R"({"do":"add","kind":"route","destination":"10.0.0.0/8","dev":1,"preferredSource":"fd00::1"})",
               "'preferredSource' must be of");
  CheckRefused(R"({"do":"add","kind":"rule","table":1,"source":"10.0.0.0/8","destination":"fd00::/64"})",
               "'destination' must be of");
  CheckRefused(R"({"do":"add","kind":"rule","table":1,"family":"bridge"})", "'family' must be inet or inet6");
  CheckRefused(R"({"do":"add","kind":"neighbour","dev":1,"family":"inet","address":"fd00::1","mac":"02:00:00:00:00:01"})",
               "'address' must be of");
}

TEST("options go with their own type, and rates are above zero") {
  CheckRefused(R"({"do":"add","kind":"link","name":"a","bridge":{},"vxlan":{"vni":1}})", "options of one type only");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","type":"bridge","peer":{"name":"b"}})",
               "'type' must be \"veth\" with these options");
  CheckRefused(R"({"do":"add","kind":"link","name":"a","vxlan":{}})", "a vxlan needs its vni");
  CheckRefused(R"({"do":"add","kind":"qdisc","dev":1,"type":"htb","tbf":{}})", "go with type \"tbf\"");
  CheckRefused(R"({"do":"add","kind":"qdisc","dev":1,"type":"tbf","htb":{}})", "go with type \"htb\"");
  CheckRefused(R"({"do":"add","kind":"qdisc","dev":1,"tbf":{"rate":0,"burst":1}})", "above zero");
  CheckRefused(R"({"do":"add","kind":"qdisc","dev":1,"tbf":{"rate":1,"burst":1,"peakRate":0}})",
               "'tbf.peakRate' must be above zero");
  CheckRefused(R"({"do":"add","kind":"class","dev":1,"handle":"1:1","type":"htb","htb":{"rate":1,"ceil":0}})", "above zero");
  CheckRefused(R"({"do":"change","kind":"rule","table":1})", "rules cannot be changed");
}

TEST("messages cut anywhere are refused or read in part, never past their end") {
  for (const char* request :
       {R"({"do":"add","kind":"link","name":"vx0","vxlan":{"vni":42,"local":"10.0.0.1"}})",
        R"({"do":"add","kind":"address","dev":3,"address":"fd00::1/64","validLifetime":60})",
        R"({"do":"add","kind":"route","destination":"::/0","nextHops":[{"gateway":"fd00::1"},{"dev":4}],"metrics":{"mtu":1400}})",
        R"({"do":"add","kind":"rule","table":1,"source":"10.0.0.0/8","sourcePort":"1-2"})",
        R"({"do":"add","kind":"neighbour","dev":3,"address":"fd00::9","mac":"02:00:00:00:00:09"})",
        R"({"do":"add","kind":"qdisc","dev":3,"tbf":{"rate":6250000000,"burst":1,"peakRate":5}})",
        R"({"do":"add","kind":"class","dev":3,"handle":"1:1","type":"htb","htb":{"rate":1}})"}) {
    const json::Document document(request);
    RouteRequest read = RouteRequest::Read(document.root());
    Batch batch;
    std::visit([&](auto& object) { object.Encode(batch, read.verb, 0); }, read.object);
    const Bytes payload(batch.data() + sizeof(nlmsghdr), batch.size() - sizeof(nlmsghdr));
    for (size_t size = 0; size <= payload.size(); ++size) {
      const std::vector<uint8_t> cut(payload.begin(), payload.begin() + static_cast<ptrdiff_t>(size));
      json::Writer to;
      try {
        WriteRouteObject({*batch.At(0), cut}, to);
      } catch (const KernelError& error) {
        CHECK_EQUAL(error.error(), EBADMSG);
      }
    }
  }
}

TEST("events tell new from gone and skip what is not ours") {
  Batch batch;
  for (const int type : std::initializer_list<int>{RTM_NEWNEIGH, RTM_DELNEIGH, RTM_GETNEIGH, NLMSG_DONE}) {
    batch.Begin(static_cast<uint16_t>(type), 0);
    batch.Header(ndmsg{});
    batch.End();
  }
  const json::Document events(ReadEvents({batch.data(), batch.size()}));
  CHECK_EQUAL(events.root().items().size(), 2u);
  CHECK_EQUAL(test::ItemOf(events.root(), 0).Find("event")->string(), "new");
  CHECK_EQUAL(test::ItemOf(events.root(), 1).Find("event")->string(), "delete");
  CHECK_EQUAL(test::ItemOf(events.root(), 1).Find("object")->Find("kind")->string(), "neighbour");
  CHECK_EQUAL(ReadEvents({}), "");
}
