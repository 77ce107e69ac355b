#include "xtables/table.h"

#include <netinet/in.h>

#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace trellis::xtables {

const Layout kIpv4{sizeof(ipt_entry), sizeof(ipt_ip), offsetof(ipt_entry, target_offset), offsetof(ipt_entry, next_offset)};
const Layout kIpv6{sizeof(ip6t_entry), sizeof(ip6t_ip6), offsetof(ip6t_entry, target_offset), offsetof(ip6t_entry, next_offset)};

namespace {

constexpr std::string_view kHookNames[kHooks] = {"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"};
constexpr size_t kExtension = sizeof(xt_entry_target);  // a match's header is laid out alike
static_assert(sizeof(xt_entry_match) == kExtension);
constexpr size_t kNameAt = offsetof(xt_entry_target, u.user.name);
constexpr size_t kRevisionAt = offsetof(xt_entry_target, u.user.revision);

[[noreturn]] void Malformed(const std::string& what) { throw KernelError(EBADMSG, "read the table", what); }

template <class T>
T Load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void Store(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// A name in a field of fixed size that need not be ended.
std::string_view Name(const uint8_t* at, size_t room) {
  const auto* text = reinterpret_cast<const char*>(at);
  return {text, strnlen(text, room)};
}

std::string_view ExtensionName(const uint8_t* header) { return Name(header + kNameAt, XT_EXTENSION_MAXNAMELEN); }

size_t Align(size_t size) { return (size + alignof(xt_counters) - 1) & ~(alignof(xt_counters) - 1); }

}  // namespace

std::string Extension(std::string_view name, uint8_t revision, std::string info) {
  if (name.size() >= XT_EXTENSION_MAXNAMELEN) throw InputError("'" + std::string(name) + "' is too long a name");
  std::string bytes(kExtension, '\0');
  info.resize(Align(info.size()), '\0');
  const auto size = static_cast<uint16_t>(bytes.size() + info.size());
  std::memcpy(bytes.data(), &size, sizeof size);
  name.copy(bytes.data() + kNameAt, name.size());
  bytes[kRevisionAt] = static_cast<char>(revision);
  return bytes + info;
}

std::string StandardTarget(int32_t verdict) {
  return Extension(XT_STANDARD_TARGET, 0, {reinterpret_cast<const char*>(&verdict), sizeof verdict});
}

std::string Entry(const Layout& layout, std::string_view head, std::string_view matches, std::string_view target) {
  if (head.size() > layout.head) throw InputError("the head of a rule is too long");
  const size_t targetAt = layout.entry + matches.size(), size = targetAt + target.size();
  if (size > UINT16_MAX) throw InputError("a rule is too long");
  std::string bytes(layout.entry, '\0');
  head.copy(bytes.data(), head.size());
  Store(reinterpret_cast<uint8_t*>(bytes.data()) + layout.target, static_cast<uint16_t>(targetAt));
  Store(reinterpret_cast<uint8_t*>(bytes.data()) + layout.next, static_cast<uint16_t>(size));
  return bytes.append(matches).append(target);
}

std::string ChainHead(const Layout& layout, std::string_view name) {
  if (name.empty() || name.size() >= XT_EXTENSION_MAXNAMELEN) throw InputError("a chain's name has 1 to 28 letters");
  std::string info(XT_FUNCTION_MAXNAMELEN, '\0');
  name.copy(info.data(), name.size());
  return Entry(layout, {}, {}, Extension(XT_ERROR_TARGET, 0, std::move(info)));
}

std::string Return(const Layout& layout) { return Entry(layout, {}, {}, StandardTarget(XT_RETURN)); }

Table::Table(const Layout& layout, Bytes entries, const Hooks& hooks) : layout_(layout), entries_(entries) {
  ReadEntries(hooks);
  ResolveJumps();
  SortChains();
}

// A chain begins where a hook enters or behind an entry that holds its name; its last entry is its policy.
void Table::ReadEntries(const Hooks& hooks) {
  struct Begun {
    Chain chain;
    size_t first;
  };
  std::vector<Begun> begun;
  const auto hookAt = [&](size_t offset) {
    for (size_t hook = 0; hook < kHooks; ++hook)
      if ((hooks.valid >> hook & 1) != 0 && hooks.entry[hook] == offset) return static_cast<int>(hook);
    return -1;
  };
  size_t at = 0;
  bool ended = false;
  for (uint32_t index = 0; at < entries_.size(); ++index) {
    if (ended) Malformed("an entry behind the last");
    if (entries_.size() - at < layout_.entry) Malformed("a cut entry");
    const uint8_t* bytes = entries_.data() + at;
    const size_t target = Load<uint16_t>(bytes + layout_.target), size = Load<uint16_t>(bytes + layout_.next);
    if (target < layout_.entry || size < target + kExtension || size > entries_.size() - at) Malformed("an entry's offsets");
    const Rule rule{bytes, static_cast<uint32_t>(size), index, kNoJump};
    const bool isError = ExtensionName(bytes + target) == XT_ERROR_TARGET;
    if (const int hook = hookAt(at); hook >= 0) {
      begun.push_back({{.name = kHookNames[hook], .hook = hook, .start = at}, rules_.size()});
    } else if (isError) {
      if (size - target < kExtension + XT_FUNCTION_MAXNAMELEN) Malformed("a chain without a name");
      if (at + size == entries_.size()) {
        last_ = rule;
        ended = true;
      } else {
        const auto name = Name(bytes + target + kExtension, XT_FUNCTION_MAXNAMELEN);
        begun.push_back({{.name = name, .head = rule, .start = at + size}, rules_.size()});
      }
      at += size;
      continue;
    }
    if (begun.empty()) Malformed("a rule of no chain");
    rules_.push_back(rule);
    at += size;
  }
  if (!ended) Malformed("no end");
  found_ = {rules_.size() + 1, entries_.size()};
  for (size_t i = 0; i < begun.size(); ++i) {
    auto& [chain, first] = begun[i];
    const size_t end = i + 1 < begun.size() ? begun[i + 1].first : rules_.size();
    if (end == first) Malformed("a chain without a policy");
    chain.rules = std::span(rules_).subspan(first, end - first - 1);
    chain.foot = rules_[end - 1];
    if (chain.hook < 0) ++found_.entries;
    else if (static_cast<size_t>(chain.foot.bytes - entries_.data()) != hooks.underflow[static_cast<size_t>(chain.hook)])
      Malformed("a policy elsewhere");
    chain.found = chain.start;
    chains_.push_back(chain);
  }
  const auto hooked = std::count_if(chains_.begin(), chains_.end(), [](const Chain& chain) { return chain.hook >= 0; });
  if (hooked != std::popcount(hooks.valid)) Malformed("a hook that enters no chain");
}

void Table::ResolveJumps() {
  // Chains were found one behind the other, so their starts are in order.
  const auto chainAt = [&](size_t offset) {
    const auto found = std::lower_bound(chains_.begin(), chains_.end(), offset,
                                        [](const Chain& chain, size_t start) { return chain.start < start; });
    if (found == chains_.end() || found->start != offset || found->hook >= 0) Malformed("a jump to no chain");
    return static_cast<int32_t>(found - chains_.begin());
  };
  const auto resolve = [&](Rule& rule) {
    const size_t target = Load<uint16_t>(rule.bytes + layout_.target);
    if (ExtensionName(rule.bytes + target) != XT_STANDARD_TARGET) return;
    if (rule.size - target < kExtension + sizeof(int32_t)) Malformed("a target without a verdict");
    const auto verdict = Load<int32_t>(rule.bytes + target + kExtension);
    if (verdict < 0) return;
    const auto behind = static_cast<size_t>(rule.bytes - entries_.data()) + rule.size;
    rule.jump = static_cast<size_t>(verdict) == behind ? kFallThrough : chainAt(static_cast<size_t>(verdict));
  };
  for (Rule& rule : rules_) resolve(rule);
  for (const Chain& chain : chains_) {
    const size_t target = Load<uint16_t>(chain.foot.bytes + layout_.target);
    const bool isVerdict = ExtensionName(chain.foot.bytes + target) == XT_STANDARD_TARGET;
    if (!isVerdict || Load<int32_t>(chain.foot.bytes + target + kExtension) >= 0) Malformed("a policy that is none");
  }
}

void Table::SortChains() {
  for (size_t i = 0; i < chains_.size(); ++i) {
    order_.push_back(static_cast<int32_t>(i));
    if (chains_[i].hook < 0) continue;
    if (i != builtIn_) Malformed("a built-in chain behind others");
    ++builtIn_;
  }
  const auto byName = [&](int32_t a, int32_t b) { return chains_[a].name < chains_[b].name; };
  const auto first = order_.begin() + static_cast<ptrdiff_t>(builtIn_);
  if (!std::is_sorted(first, order_.end(), byName)) std::sort(first, order_.end(), byName);
  const auto same = [&](int32_t a, int32_t b) { return chains_[a].name == chains_[b].name; };
  if (std::adjacent_find(first, order_.end(), same) != order_.end()) Malformed("two chains of one name");
}

int32_t Table::Find(std::string_view name) const {
  for (size_t i = 0; i < builtIn_; ++i)
    if (chains_[order_[i]].name == name) return order_[i];
  const auto first = order_.begin() + static_cast<ptrdiff_t>(builtIn_);
  const auto found = std::lower_bound(first, order_.end(), name,
                                      [&](int32_t chain, std::string_view wanted) { return chains_[chain].name < wanted; });
  return found != order_.end() && chains_[*found].name == name ? *found : -1;
}

int32_t Table::Need(std::string_view name) const {
  const int32_t chain = Find(name);
  if (chain < 0) throw InputError("there is no chain '" + std::string(name) + "'");
  return chain;
}

std::vector<Table::Rule>& Table::Edit(Chain& chain) {
  if (chain.edited == nullptr) chain.edited = &edited_.emplace_back(chain.rules.begin(), chain.rules.end());
  return *chain.edited;
}

Table::Rule Table::Keep(NewRule rule) {
  const int32_t jump = rule.jump.empty() ? kNoJump : Need(rule.jump);
  if (jump >= 0 && chains_[jump].hook >= 0) throw InputError("a rule jumps to a built-in chain");
  const auto bytes = HoldText(std::move(rule.bytes));
  return {reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<uint32_t>(bytes.size()), kNew, jump};
}

void Table::Declare(std::string_view name) {
  if (const int32_t known = Find(name); known >= 0) {
    if (chains_[known].hook >= 0) throw InputError("'" + std::string(name) + "' is a built-in chain");
    Edit(chains_[known]).clear();
    chains_[known].rules = {};
    return;
  }
  const auto kept = HoldText(std::string(name));
  const auto number = static_cast<int32_t>(chains_.size());
  chains_.push_back({.name = kept, .head = Keep({ChainHead(layout_, name), {}}), .foot = Keep({Return(layout_), {}})});
  const auto at = std::upper_bound(order_.begin() + static_cast<ptrdiff_t>(builtIn_), order_.end(), kept,
                                   [&](std::string_view wanted, int32_t chain) { return wanted < chains_[chain].name; });
  order_.insert(at, number);
}

void Table::Append(std::string_view name, NewRule rule) {
  Chain& chain = chains_[Need(name)];
  auto& rules = Edit(chain);
  rules.push_back(Keep(std::move(rule)));
  chain.rules = rules;
}

void Table::Insert(std::string_view name, NewRule rule) {
  Chain& chain = chains_[Need(name)];
  auto& rules = Edit(chain);
  rules.insert(rules.begin(), Keep(std::move(rule)));
  chain.rules = rules;
}

void Table::Delete(std::string_view name, const NewRule& rule) {
  Chain& chain = chains_[Need(name)];
  auto& rules = Edit(chain);
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& one) { return IsSame(one, rule); });
  if (found == rules.end()) throw InputError("there is no such rule in '" + std::string(name) + "'");
  rules.erase(found);
  chain.rules = rules;
}

void Table::Remove(std::string_view name) {
  Chain& chain = chains_[Need(name)];
  if (chain.hook >= 0 || !chain.rules.empty()) throw InputError("'" + std::string(name) + "' is built in or not empty");
  chain.removed = true;
  order_.erase(std::find(order_.begin(), order_.end(), static_cast<int32_t>(&chain - chains_.data())));
}

// Counters and what else the kernel keeps in an entry do not count, nor does what it leaves behind the end of a name.
bool Table::IsSame(const Rule& found, const NewRule& wanted) const {
  const auto* other = reinterpret_cast<const uint8_t*>(wanted.bytes.data());
  if (found.size != wanted.bytes.size() || std::memcmp(found.bytes, other, layout_.head) != 0) return false;
  const size_t target = Load<uint16_t>(other + layout_.target);
  if (Load<uint16_t>(found.bytes + layout_.target) != target) return false;
  const auto sameHeader = [&](size_t at) {
    return Load<uint16_t>(found.bytes + at) == Load<uint16_t>(other + at) &&
           found.bytes[at + kRevisionAt] == other[at + kRevisionAt] &&
           ExtensionName(found.bytes + at) == ExtensionName(other + at);
  };
  const auto sameInfo = [&](size_t at, size_t end) {
    return std::memcmp(found.bytes + at + kExtension, other + at + kExtension, end - at - kExtension) == 0;
  };
  for (size_t at = layout_.entry; at < target;) {
    const size_t end = at + Load<uint16_t>(other + at);
    if (!sameHeader(at) || !sameInfo(at, end)) return false;
    at = end;
  }
  if (!sameHeader(target)) return false;
  if (found.jump >= 0 || !wanted.jump.empty()) return found.jump >= 0 && chains_[found.jump].name == wanted.jump;
  return found.jump != kFallThrough && sameInfo(target, found.size);
}

TableSize Table::Measure() {
  TableSize size;
  const auto count = [&](const Rule& rule) {
    if (rule.jump >= 0 && chains_[rule.jump].removed)
      throw InputError("a rule jumps to '" + std::string(chains_[rule.jump].name) + "'");
    ++size.entries;
    size.bytes += rule.size;
  };
  for (const int32_t number : order_) {
    Chain& chain = chains_[number];
    if (chain.hook < 0) count(chain.head);
    chain.start = size.bytes;
    for (const Rule& rule : chain.rules) count(rule);
    count(chain.foot);
  }
  count(last_);
  return size;
}

Arrangement Table::Arrange() {
  Arrangement to{.size = Measure()};
  to.origins.reserve(to.size.entries);
  size_t at = 0;
  const auto place = [&](const Rule& rule) {
    Place(rule, at, to);
    at += rule.size;
  };
  for (const int32_t number : order_) {
    const Chain& chain = chains_[number];
    if (chain.hook < 0) {
      place(chain.head);
    } else {
      to.hooks.valid |= 1u << chain.hook;
      to.hooks.entry[static_cast<size_t>(chain.hook)] = static_cast<uint32_t>(at);
    }
    for (const Rule& rule : chain.rules) place(rule);
    if (chain.hook >= 0) to.hooks.underflow[static_cast<size_t>(chain.hook)] = static_cast<uint32_t>(at);
    place(chain.foot);
  }
  place(last_);
  return to;
}

void Table::Place(const Rule& rule, size_t at, Arrangement& in) const {
  in.origins.push_back(rule.origin);
  const bool isNew = rule.origin == kNew;
  const size_t from = isNew ? SIZE_MAX : static_cast<size_t>(rule.bytes - entries_.data());
  if (rule.jump != kNoJump) {
    const size_t place = rule.jump == kFallThrough ? at + rule.size : chains_[rule.jump].start;
    const bool isThere = rule.jump == kFallThrough ? from == at : !isNew && chains_[rule.jump].found == place;
    if (!isThere)
      in.jumps.push_back({at + Load<uint16_t>(rule.bytes + layout_.target) + kExtension, static_cast<int32_t>(place)});
  }
  if (isNew) {
    in.pieces.push_back({at, rule.size, from, rule.bytes});
    return;
  }
  const auto last = std::find_if(in.pieces.rbegin(), in.pieces.rend(), [](const auto& piece) { return piece.added == nullptr; });
  const size_t end = last == in.pieces.rend() ? 0 : last->from + last->size;
  in.inOrder = in.inOrder && from >= end;
  if (last == in.pieces.rbegin() && !in.pieces.empty() && from == end) last->size += rule.size;
  else in.pieces.push_back({at, rule.size, from, nullptr});
}

void Arrangement::WriteTo(uint8_t* to, const uint8_t* found) const {
  for (const Piece& piece : pieces)
    std::memcpy(to + piece.to, piece.added != nullptr ? piece.added : found + piece.from, piece.size);
  Finish(to);
}

// What moves up goes first, the last piece before the one in front of it: nothing is written over before it has moved.
void Arrangement::WriteOver(uint8_t* entries) const {
  const auto move = [&](const Piece& piece) { std::memmove(entries + piece.to, entries + piece.from, piece.size); };
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
    if (piece->added == nullptr && piece->to > piece->from) move(*piece);
  for (const Piece& piece : pieces)
    if (piece.added == nullptr && piece.to < piece.from) move(piece);
  for (const Piece& piece : pieces)
    if (piece.added != nullptr) std::memcpy(entries + piece.to, piece.added, piece.size);
  Finish(entries);
}

void Arrangement::Finish(uint8_t* to) const {
  for (const Jump& jump : jumps) Store(to + jump.at, jump.place);
}

}  // namespace trellis::xtables
