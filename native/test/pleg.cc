// The pod lifecycle event generator: protobuf lists in, events out.
#include "pleg/differ.h"

#include "base/error.h"
#include "base/json.h"
#include "test/check.h"

using namespace trellis;
using namespace trellis::pleg;

namespace {

std::string Delimited(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out += static_cast<char>(bytes.size());
  return out.append(bytes);
}

std::string Number(int number, int value) { return std::string{static_cast<char>(number << 3), static_cast<char>(value)}; }

std::string Sandbox(const std::string& id, const std::string& uid, int state = 0) {
  return Delimited(1, Delimited(1, id) + Delimited(2, Delimited(2, uid)) + Number(3, state));
}

std::string Container(const std::string& id, const std::string& sandbox, int state, const std::string& label = "") {
  const std::string entry = Delimited(1, "io.kubernetes.pod.uid") + Delimited(2, label);
  return Delimited(1, Delimited(1, id) + Delimited(2, sandbox) + Number(6, state) + (label.empty() ? "" : Delimited(8, entry)));
}

Bytes View(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

// Only the letters of the events that matter: "uid: Started id, Died id;".
std::string Events(Differ& differ, const std::string& sandboxes, const std::string& containers, bool commit = true) {
  const Changes changes = differ.Diff(View(sandboxes), View(containers));
  if (commit) differ.Commit(changes.token);
  const json::Document document(changes.json);
  std::string out;
  for (const auto& pod : document.root().items()) {
    out.append(pod.Find("podUid")->string()).append(":");
    for (const auto& event : pod.Find("events")->items())
      out.append(" ").append(event.Find("type")->string().substr(9)).append(" ").append(event.Find("id")->string());
    out += ';';
  }
  return out;
}

}  // namespace

TEST("PLEG: a pod that starts, dies and goes gives the kubelet's events") {
  Differ differ;
  CHECK_EQUAL(Events(differ, Sandbox("s", "u"), ""), "u: Started s;");
  CHECK_EQUAL(Events(differ, Sandbox("s", "u"), Container("c", "s", 0)), "u: Changed c;");
  CHECK_EQUAL(Events(differ, Sandbox("s", "u"), Container("c", "s", 1)), "u: Started c;");
  CHECK_EQUAL(Events(differ, Sandbox("s", "u"), Container("c", "s", 1)), "");
  CHECK_EQUAL(Events(differ, Sandbox("s", "u", 1), Container("c", "s", 2)), "u: Died c Died s;");
  CHECK_EQUAL(Events(differ, "", ""), "u: Removed c Removed s;");
  CHECK_EQUAL(differ.Pods(), "[]");
}

TEST("PLEG: one that vanished while it ran has died and is removed") {
  Differ differ;
  Events(differ, Sandbox("s", "u"), Container("c", "s", 1));
  CHECK_EQUAL(Events(differ, Sandbox("s", "u"), ""), "u: Died c Removed c;");
}

TEST("PLEG: the record advances only when told, and never by a listing that a later one replaced") {
  Differ differ;
  const std::string list = Sandbox("s", "u");
  const Changes first = differ.Diff(View(list), {});
  CHECK_EQUAL(Events(differ, list, "", false), "u: Started s;");
  differ.Commit(first.token);
  CHECK_EQUAL(differ.Pods(), "[]");
  CHECK_EQUAL(Events(differ, list, ""), "u: Started s;");
  CHECK_EQUAL(differ.Pods(), "[\"u\"]");
  differ.Commit(first.token);
  CHECK_EQUAL(Events(differ, list, ""), "");
}

TEST("PLEG: a container whose sandbox is not listed belongs to the pod of its label, one without either to none") {
  Differ differ;
  CHECK_EQUAL(Events(differ, "", Container("c", "s", 1, "u") + Container("d", "s", 1)), "u: Started c;");
}

TEST("PLEG: only pods that changed are told, in order") {
  Differ differ;
  Events(differ, Sandbox("1", "a") + Sandbox("2", "b") + Sandbox("3", "c"), "");
  CHECK_EQUAL(Events(differ, Sandbox("3", "c", 1) + Sandbox("2", "b") + Sandbox("4", "a"), ""),
              "a: Died 1 Removed 1 Started 4;c: Died 3;");
}

TEST("PLEG: bytes that are no list are refused and leave the record alone") {
  Differ differ;
  Events(differ, Sandbox("s", "u"), "");
  struct Case {
    std::string bytes;
    const char* why;
  };
  const Case cases[] = {
      {std::string("\x0a\x05x", 3), "longer than its message"},
      {std::string("\x0a", 1), "ends within a number"},
      {std::string(11, '\xff'), "more than 64 bits"},
      {std::string("\x0b", 1), "unknown wire type"},
      {std::string("\x00\x00", 2), "impossible number"},
      {Number(1, 1), "holds a number"},
      {Delimited(1, Delimited(1, "s") + Delimited(3, "x")), "holds bytes"},
      {Delimited(1, ""), "has no id"},
  };
  for (const Case& one : cases) CHECK_THROWS(KernelError, one.why, differ.Diff(View(one.bytes), {}));
  CHECK_THROWS(KernelError, "read ListContainersResponse", differ.Diff({}, View(Delimited(1, ""))));
  CHECK_EQUAL(differ.Pods(), "[\"u\"]");
}
