// The N-API glue: arguments in, results out. Every call that may block runs on a libuv thread, long ones on threads of ours.
// Guarantees: no JavaScript is touched off the main thread; what JavaScript forgets to close is closed with its object, and
// what an environment left running (a program, a walk through a tree) ends with it.
#include <malloc.h>
#include <napi.h>

#include <cstring>

#include "addon/arguments.h"
#include "addon/work.h"
#include "base/error.h"
#include "cgroup/stats.h"
#include "netlink/nftables/events.h"
#include "netlink/nftables/trace.h"
#include "netlink/route/monitor.h"
#include "netns/offload.h"
#include "netns/probe.h"
#include "pleg/differ.h"
#include "process/file_lock.h"
#include "process/mapped_file.h"
#include "process/run.h"
#include "session/channel.h"
#include "tree/tree.h"

namespace trellis {

namespace {

template <class T>
Napi::Value Wrap(Napi::Env env, Napi::FunctionReference* constructor, std::shared_ptr<T> inner) {
  return constructor->New({Napi::External<std::shared_ptr<T>>::New(env, &inner)});
}

constexpr size_t kPrograms = 16, kWalks = 4;

struct Classes {
  Napi::FunctionReference channel;
  Napi::FunctionReference monitor;
  Napi::FunctionReference pleg;
  Pool programs{kPrograms};
  Pool walks{kWalks};
};

class ChannelObject : public Napi::ObjectWrap<ChannelObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Channel",
                       {InstanceMethod<&ChannelObject::Apply>("apply"), InstanceMethod<&ChannelObject::Query>("query"),
                        InstanceMethod<&ChannelObject::Close>("close")});
  }
  explicit ChannelObject(const Napi::CallbackInfo& info)
      : ObjectWrap(info), channel_(*info[0].As<Napi::External<std::shared_ptr<Channel>>>().Data()) {}

 private:
  std::shared_ptr<Channel> Open(Napi::Env env) const {
    if (!channel_) throw ToJsError(env, {"CLOSED", "the channel to the kernel is closed", "", "", 0, {}});
    return channel_;
  }

  Napi::Value Apply(const Napi::CallbackInfo& info) {
    auto chunks = ReadBuffers(info[0], "requests");
    return PromiseWork<std::string>::Start(
        info.Env(),
        [channel = Open(info.Env()), chunks = std::move(chunks)]() mutable { return channel->Apply(std::move(chunks)); },
        [](Napi::Env env, std::string errors) { return ToBuffer(env, std::move(errors)); });
  }

  Napi::Value Query(const Napi::CallbackInfo& info) {
    return PromiseWork<std::vector<std::string>>::Start(
        info.Env(), [channel = Open(info.Env()), query = ReadBuffer(info[0])] { return channel->Query(query); },
        [](Napi::Env env, std::vector<std::string> chunks) {
          auto list = Napi::Array::New(env, chunks.size());
          for (uint32_t i = 0; i < chunks.size(); ++i) list[i] = ToBuffer(env, std::move(chunks[i]));
          return list;
        });
  }

  // A call under way keeps the channel until it is done.
  void Close(const Napi::CallbackInfo&) { channel_.reset(); }

  std::shared_ptr<Channel> channel_;
};

Napi::Value OpenChannel(const Napi::CallbackInfo& info) {
  return PromiseWork<std::shared_ptr<Channel>>::Start(
      info.Env(),
      [family = ReadName(info[0], "a family"), spec = ReadNetNs(info[1])] { return std::make_shared<Channel>(family, spec); },
      [](Napi::Env env, std::shared_ptr<Channel> channel) {
        return Wrap(env, &env.GetInstanceData<Classes>()->channel, std::move(channel));
      });
}

// The monitor's thread speaks through a thread-safe function. Stopping aborts it first, so that a thread which waits for
// a full queue wakes, and joins then.
class MonitorObject : public Napi::ObjectWrap<MonitorObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Monitor", {InstanceMethod<&MonitorObject::Close>("close")});
  }
  explicit MonitorObject(const Napi::CallbackInfo& info) : ObjectWrap(info), env_(info.Env()) {
    const NetNsSpec spec = ReadNetNs(info[0]);
    if (!info[2].IsFunction()) Refuse(info[2], "a listener must be a function");
    events_ = Events::New(info.Env(), info[2].As<Napi::Function>(), "trellis.monitor", kQueue, 1);
    try {
      monitor_ = std::make_unique<netlink::Monitor>(spec.Open(), ReadSource(info[1]),
                                                    [events = events_](std::string bytes) { Deliver(events, std::move(bytes)); });
    } catch (...) {
      events_.Abort();
      throw ToJsError(info.Env(), CurrentError());
    }
    napi_add_env_cleanup_hook(env_, Stop, this);
  }
  ~MonitorObject() override {
    if (!monitor_) return;
    napi_remove_env_cleanup_hook(env_, Stop, this);
    Stop(this);
  }

 private:
  static constexpr size_t kQueue = 1024;

  // The kinds of routing events; a table whose packets are traced; or undefined for the events of nf_tables.
  static netlink::EventSource ReadSource(const Napi::Value& value) {
    if (value.IsUndefined()) return netlink::NftEvents();
    if (value.IsString()) return netlink::NftTraces(ReadText(value, "a table"));
    return netlink::RouteEvents(ReadTexts(value, "kinds of events"));
  }

  // Runs also for what was still queued when the monitor was stopped, then without an environment.
  static void Hand(Napi::Env env, Napi::Function listener, void*, std::string* taken) {
    const std::unique_ptr<std::string> bytes(taken);  // freed also when the listener throws
    if (env != nullptr) listener.Call({ToBuffer(env, std::move(*bytes))});
  }
  using Events = Napi::TypedThreadSafeFunction<void, std::string, Hand>;

  static void Deliver(const Events& events, std::string bytes) {
    auto owned = std::make_unique<std::string>(std::move(bytes));
    if (events.BlockingCall(owned.get()) == napi_ok) owned.release();
  }

  static void Stop(void* self) {
    auto* monitor = static_cast<MonitorObject*>(self);
    if (!monitor->monitor_) return;
    monitor->events_.Abort();
    monitor->monitor_.reset();
  }

  void Close(const Napi::CallbackInfo&) {
    if (!monitor_) return;
    napi_remove_env_cleanup_hook(env_, Stop, this);
    Stop(this);
  }

  napi_env env_;
  Events events_;
  std::unique_ptr<netlink::Monitor> monitor_;
};

Napi::Value WatchRoutes(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Classes>()->monitor.New({info[0], info[1], info[2]});
}

Napi::Value WatchNft(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Classes>()->monitor.New({info[0], info.Env().Undefined(), info[1]});
}

Napi::Value WatchTraces(const Napi::CallbackInfo& info) {
  ReadText(info[1], "a table");
  return info.Env().GetInstanceData<Classes>()->monitor.New({info[0], info[1], info[2]});
}

// The record of the pod lifecycle. A call under way keeps it alive.
class PlegObject : public Napi::ObjectWrap<PlegObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Pleg",
                       {InstanceMethod<&PlegObject::Diff>("diff"), InstanceMethod<&PlegObject::Commit>("commit"),
                        InstanceMethod<&PlegObject::Pods>("pods")});
  }
  explicit PlegObject(const Napi::CallbackInfo& info) : ObjectWrap(info) {}

 private:
  // Copied: JavaScript may write to the buffers, or give them away, while the work goes on.
  Napi::Value Diff(const Napi::CallbackInfo& info) {
    return PromiseWork<pleg::Changes>::Start(
        info.Env(),
        [differ = differ_, sandboxes = ReadBuffer(info[0]), containers = ReadBuffer(info[1])] {
          return differ->Diff(BytesOf(sandboxes), BytesOf(containers));
        },
        [](Napi::Env env, pleg::Changes changes) {
          auto out = Napi::Object::New(env);
          out.Set("changed", ToBuffer(env, std::move(changes.json)));
          out.Set("token", Napi::Number::New(env, static_cast<double>(changes.token)));
          return out;
        });
  }

  static Bytes BytesOf(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

  void Commit(const Napi::CallbackInfo& info) {
    differ_->Commit(static_cast<uint64_t>(ReadWhole(info[0], "a token", 0, 1LL << 53)));
  }

  Napi::Value Pods(const Napi::CallbackInfo& info) { return ToBuffer(info.Env(), differ_->Pods()); }

  std::shared_ptr<pleg::Differ> differ_ = std::make_shared<pleg::Differ>();
};

Napi::Value OpenPleg(const Napi::CallbackInfo& info) { return info.Env().GetInstanceData<Classes>()->pleg.New({}); }

// Takes the mounts, the groups as lines, and a byte a group that says whether its network is wanted; gives rows of doubles.
Napi::Value ReadCgroups(const Napi::CallbackInfo& info) {
  const auto given = ReadObject(info[0], "the mounts of control groups");
  const auto text = [&given](const char* name) { return ReadText(given.Get(name), name); };
  const cgroup::Mounts mounts{given.Get("v2").ToBoolean(), text("cpu"), text("cpuacct"), text("memory"), text("pids")};
  const std::string groups = ReadText(info[1], "control groups");
  const std::string network = ReadBuffer(info[2]);
  std::vector<cgroup::Request> requests;
  for (size_t start = 0, i = 0; start < groups.size() && i < network.size(); i++) {
    const size_t end = std::min(groups.find('\n', start), groups.size());
    requests.push_back({groups.substr(start, end - start), network[i] != 0});
    start = end + 1;
  }
  return PromiseWork<std::string>::Start(
      info.Env(),
      [mounts, requests] {
        const auto rows = cgroup::ReadStats(mounts, requests);
        return std::string(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(double));
      },
      [](Napi::Env env, std::string rows) { return ToBuffer(env, std::move(rows)); });
}

Napi::Value CreateNetNs(const Napi::CallbackInfo& info) {
  return PromiseWork<bool>::Start(
      info.Env(), [path = ReadName(info[0], "a path")] { return NetNs::Create(path), true; },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

Napi::Value RemoveNetNs(const Napi::CallbackInfo& info) {
  return PromiseWork<bool>::Start(
      info.Env(), [path = ReadName(info[0], "a path")] { return NetNs::Remove(path), true; },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

Napi::Value TxChecksum(const Napi::CallbackInfo& info) {
  return PromiseWork<bool>::Start(
      info.Env(),
      [spec = ReadNetNs(info[0]), device = ReadName(info[1], "a device")] { return ReadTxChecksum(spec.Open(), device); },
      [](Napi::Env env, bool on) { return Napi::Boolean::New(env, on); });
}

Napi::Value SetTxChecksum(const Napi::CallbackInfo& info) {
  return PromiseWork<bool>::Start(
      info.Env(),
      [spec = ReadNetNs(info[0]), device = ReadName(info[1], "a device"), on = ReadBool(info[2], "on")] {
        return WriteTxChecksum(spec.Open(), device, on), true;
      },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

Napi::Value IsRefused(const Napi::CallbackInfo& info) {
  const auto timeoutMs = static_cast<int>(ReadWhole(info[3], "timeoutMs", 0, INT32_MAX));
  return PromiseWork<bool>::Start(
      info.Env(),
      [spec = ReadNetNs(info[0]), from = ReadName(info[1], "an address"), to = ReadName(info[2], "an address"), timeoutMs] {
        return IsDatagramRefused(spec.Open(), from, to, timeoutMs);
      },
      [](Napi::Env env, bool refused) { return Napi::Boolean::New(env, refused); });
}

Napi::Value Send(const Napi::CallbackInfo& info) {
  const auto given = ReadObject(info[1], "a probe");
  const auto port = [&](const char* name) { return static_cast<in_port_t>(ReadWhole(given.Get(name), name, 0, UINT16_MAX)); };
  const Probe probe{ReadName(given.Get("protocol"), "protocol"), ReadName(given.Get("from"), "from"), port("fromPort"),
                    ReadName(given.Get("to"), "to"), port("toPort")};
  const auto timeoutMs = static_cast<int>(ReadWhole(info[2], "timeoutMs", 0, INT32_MAX));
  return PromiseWork<std::string>::Start(
      info.Env(), [spec = ReadNetNs(info[0]), probe, timeoutMs] { return SendProbe(spec.Open(), probe, timeoutMs); },
      [](Napi::Env env, std::string outcome) { return Napi::String::New(env, outcome); });
}

RunRequest ReadRunRequest(const Napi::CallbackInfo& info) {
  RunRequest request;
  request.argv = ReadTexts(info[0], "an argument");
  request.input = ReadBuffers(info[2], "input");
  const auto options = ReadObject(info[3], "options");
  request.timeoutMs = static_cast<int>(ReadWhole(options.Get("timeoutMs"), "timeoutMs", 0, INT32_MAX));
  request.maxOutput = static_cast<size_t>(ReadWhole(options.Get("maxOutputBytes"), "maxOutputBytes", 0, 1LL << 53));
  const auto environment = ReadObject(options.Get("env"), "env");
  const auto names = environment.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const Napi::Value name = names[i];
    request.environment.emplace_back(ReadText(name, "the name of a variable"), ReadText(environment.Get(name), "a variable"));
  }
  return request;
}

// The shape of Node's own spawnSync results.
Napi::Value ToRunResult(Napi::Env env, RunResult result) {
  auto out = Napi::Object::New(env);
  const bool exited = result.signal == 0;
  const char* name = exited ? nullptr : sigabbrev_np(result.signal);
  out.Set("status", exited ? Napi::Value(Napi::Number::New(env, result.status)) : env.Null());
  out.Set("signal",
          exited ? env.Null()
                 : Napi::Value(Napi::String::New(env, std::string("SIG") + (name ? name : std::to_string(result.signal)))));
  out.Set("stdout", ToBuffer(env, std::move(result.output)));
  out.Set("stderr", ToBuffer(env, std::move(result.error)));
  return out;
}

Napi::Value Run(const Napi::CallbackInfo& info) {
  return PoolWork<RunResult>::Start(
      info.Env(), info.Env().GetInstanceData<Classes>()->programs,
      [request = ReadRunRequest(info), spec = ReadNetNs(info[1])](const Pool::Stop& stop) {
        return RunProgram(request, spec.Open(), stop.fd);
      },
      ToRunResult);
}

Napi::Value RemoveTree(const Napi::CallbackInfo& info) {
  return PoolWork<bool>::Start(
      info.Env(), info.Env().GetInstanceData<Classes>()->walks,
      [path = ReadName(info[0], "a path")](const Pool::Stop& stop) { return tree::Remove(path, stop.flag), true; },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

Napi::Value MeasureTree(const Napi::CallbackInfo& info) {
  return PoolWork<tree::Use>::Start(
      info.Env(), info.Env().GetInstanceData<Classes>()->walks,
      [path = ReadName(info[0], "a path")](const Pool::Stop& stop) { return tree::Measure(path, stop.flag); },
      [](Napi::Env env, tree::Use use) {
        auto out = Napi::Object::New(env);
        out.Set("usedBytes", Napi::Number::New(env, static_cast<double>(use.bytes)));
        out.Set("inodesUsed", Napi::Number::New(env, static_cast<double>(use.inodes)));
        out.Set("unread", Napi::Number::New(env, static_cast<double>(use.unread)));
        return out;
      });
}

Napi::Value OwnTree(const Napi::CallbackInfo& info) {
  const auto options = ReadObject(info[1], "options");
  const tree::Ownership wanted{static_cast<uint32_t>(ReadWhole(options.Get("gid"), "gid", 0, UINT32_MAX - 1)),
                               ReadBool(options.Get("writable"), "writable"),
                               ReadBool(options.Get("unlessRootMatches"), "unlessRootMatches")};
  return PoolWork<tree::Owned>::Start(
      info.Env(), info.Env().GetInstanceData<Classes>()->walks,
      [path = ReadName(info[0], "a path"), wanted](const Pool::Stop& stop) { return tree::Own(path, wanted, stop.flag); },
      [](Napi::Env env, tree::Owned owned) {
        auto out = Napi::Object::New(env);
        out.Set("changed", Napi::Number::New(env, static_cast<double>(owned.changed)));
        out.Set("refused", Napi::Number::New(env, static_cast<double>(owned.refused)));
        if (owned.error != 0) out.Set("code", ErrorName(owned.error));
        return out;
      });
}

// Not on a libuv thread: the file is unmapped by this one alone, and an address that is unmapped meanwhile may be
// somebody else's memory.
Napi::Value ReleaseMapped(const Napi::CallbackInfo& info) {
  const std::string path = ReadName(info[0], "a path");
  try {
    return Napi::Number::New(info.Env(), static_cast<double>(ReleaseMappedPages(path)));
  } catch (...) {
    throw ToJsError(info.Env(), CurrentError());
  }
}

// What malloc keeps of freed memory for later goes back to the kernel.
void ReleaseFreed(const Napi::CallbackInfo&) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

Napi::Value LockFile(const Napi::CallbackInfo& info) {
  const auto fd = static_cast<int>(ReadWhole(info[0], "a descriptor", 0, INT32_MAX));
  try {
    return Napi::Boolean::New(info.Env(), TryLockFile(fd));
  } catch (...) {
    throw ToJsError(info.Env(), CurrentError());
  }
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  auto* classes = new Classes;
  classes->channel = Napi::Persistent(ChannelObject::Define(env));
  classes->monitor = Napi::Persistent(MonitorObject::Define(env));
  classes->pleg = Napi::Persistent(PlegObject::Define(env));
  env.SetInstanceData(classes);
  // Threads end while the environment can still be told: later, their answers would meet what is freed already.
  napi_add_env_cleanup_hook(
      env,
      [](void* given) {
        static_cast<Classes*>(given)->programs.Close();
        static_cast<Classes*>(given)->walks.Close();
      },
      classes);
  exports.Set("open", Napi::Function::New<OpenChannel>(env, "open"));
  exports.Set("watchRoutes", Napi::Function::New<WatchRoutes>(env, "watchRoutes"));
  exports.Set("watchNft", Napi::Function::New<WatchNft>(env, "watchNft"));
  exports.Set("watchTraces", Napi::Function::New<WatchTraces>(env, "watchTraces"));
  exports.Set("sendProbe", Napi::Function::New<Send>(env, "sendProbe"));
  exports.Set("openPleg", Napi::Function::New<OpenPleg>(env, "openPleg"));
  exports.Set("readCgroups", Napi::Function::New<ReadCgroups>(env, "readCgroups"));
  exports.Set("createNetNs", Napi::Function::New<CreateNetNs>(env, "createNetNs"));
  exports.Set("txChecksum", Napi::Function::New<TxChecksum>(env, "txChecksum"));
  exports.Set("setTxChecksum", Napi::Function::New<SetTxChecksum>(env, "setTxChecksum"));
  exports.Set("isRefused", Napi::Function::New<IsRefused>(env, "isRefused"));
  exports.Set("run", Napi::Function::New<Run>(env, "run"));
  exports.Set("releaseMappedPages", Napi::Function::New<ReleaseMapped>(env, "releaseMappedPages"));
  exports.Set("releaseFreed", Napi::Function::New<ReleaseFreed>(env, "releaseFreed"));
  exports.Set("tryLockFile", Napi::Function::New<LockFile>(env, "tryLockFile"));
  exports.Set("removeTree", Napi::Function::New<RemoveTree>(env, "removeTree"));
  exports.Set("measureTree", Napi::Function::New<MeasureTree>(env, "measureTree"));
  exports.Set("ownTree", Napi::Function::New<OwnTree>(env, "ownTree"));
  exports.Set("removeNetNs", Napi::Function::New<RemoveNetNs>(env, "removeNetNs"));
  return exports;
}

}  // namespace

NODE_API_MODULE(trellis, Init)

}  // namespace trellis
