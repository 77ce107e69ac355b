// The N-API glue: arguments in, results out. Every call that may block runs on a libuv thread.
// Guarantees: no JavaScript is touched off the main thread; what JavaScript forgets to close is closed with its object.
#include <malloc.h>
#include <napi.h>

#include <cstring>

#include "cgroup/stats.h"
#include "netlink/nftables/events.h"
#include "netlink/route/monitor.h"
#include "netns/offload.h"
#include "pleg/differ.h"
#include "process/file_lock.h"
#include "process/mapped_file.h"
#include "process/run.h"
#include "session/channel.h"

namespace trellis {

namespace {

Napi::Error ToJsError(Napi::Env env, const CallError& error) {
  Napi::Error out = Napi::Error::New(env, error.message);
  out.Set("code", error.code);
  out.Set("operation", error.operation);
  out.Set("kernel", error.kernel);
  out.Set("errno", Napi::Number::New(env, error.error));
  if (error.index) out.Set("index", Napi::Number::New(env, static_cast<double>(*error.index)));
  return out;
}

Napi::Value ToBuffer(Napi::Env env, std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  return Napi::Buffer<char>::NewOrCopy(env, owned->data(), owned->size(), [owned](Napi::Env, char*) { delete owned; });
}

// Runs `work` on a libuv thread and settles a promise with what `finish` makes of its result.
template <class Result>
class PromiseWork : public Napi::AsyncWorker {
 public:
  using Work = std::function<Result()>;
  using Finish = std::function<Napi::Value(Napi::Env, Result)>;

  static Napi::Value Start(Napi::Env env, Work work, Finish finish) {
    auto* self = new PromiseWork(env, std::move(work), std::move(finish));
    Napi::Value promise = self->deferred_.Promise();
    self->Queue();
    return promise;
  }

 private:
  PromiseWork(Napi::Env env, Work work, Finish finish)
      : AsyncWorker(env), deferred_(env), work_(std::move(work)), finish_(std::move(finish)) {}

  void Execute() override {
    try {
      result_.emplace(work_());
    } catch (...) {
      error_ = CurrentError();
      SetError(error_.message);
    }
    work_ = nullptr;  // what it holds is released off the main thread
  }
  void OnOK() override { deferred_.Resolve(finish_(Env(), std::move(*result_))); }
  void OnError(const Napi::Error&) override { deferred_.Reject(ToJsError(Env(), error_).Value()); }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Finish finish_;
  std::optional<Result> result_;
  CallError error_;
};

NetNsSpec ReadNetNs(const Napi::Value& value) {
  NetNsSpec spec;
  if (value.IsString()) spec.path = value.As<Napi::String>().Utf8Value();
  else if (value.IsNumber()) spec.pid = value.As<Napi::Number>().Int32Value();
  return spec;
}

std::string ReadBuffer(const Napi::Value& value) {
  const auto bytes = value.As<Napi::Uint8Array>();
  return std::string(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
}

template <class T>
Napi::Value Wrap(Napi::Env env, Napi::FunctionReference* constructor, std::shared_ptr<T> inner) {
  return constructor->New({Napi::External<std::shared_ptr<T>>::New(env, &inner)});
}

struct Classes {
  Napi::FunctionReference channel;
  Napi::FunctionReference monitor;
  Napi::FunctionReference pleg;
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
    std::vector<std::string> chunks;
    const auto list = info[0].As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) chunks.push_back(ReadBuffer(list[i]));
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
      [family = info[0].As<Napi::String>().Utf8Value(), spec = ReadNetNs(info[1])] { return std::make_shared<Channel>(family, spec); },
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
    events_ = Napi::ThreadSafeFunction::New(info.Env(), info[2].As<Napi::Function>(), "trellis.monitor", kQueue, 1);
    try {
      monitor_ = std::make_unique<netlink::Monitor>(spec.Open(), ReadSource(info[1]), [events = events_](std::string bytes) mutable { Deliver(events, std::move(bytes)); });
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

  // The kinds of routing events, or undefined for those of nf_tables.
  static netlink::EventSource ReadSource(const Napi::Value& value) {
    if (!value.IsArray()) return netlink::NftEvents();
    std::vector<std::string> kinds;
    const auto list = value.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) kinds.push_back(Napi::Value(list[i]).As<Napi::String>().Utf8Value());
    return netlink::RouteEvents(kinds);
  }

  static void Deliver(Napi::ThreadSafeFunction& events, std::string bytes) {
    auto* owned = new std::string(std::move(bytes));
    const auto status = events.BlockingCall(owned, [](Napi::Env env, Napi::Function listener, std::string* taken) {
      listener.Call({ToBuffer(env, std::move(*taken))});
      delete taken;
    });
    if (status != napi_ok) delete owned;
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
  Napi::ThreadSafeFunction events_;
  std::unique_ptr<netlink::Monitor> monitor_;
};

Napi::Value WatchRoutes(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Classes>()->monitor.New({info[0], info[1], info[2]});
}

Napi::Value WatchNft(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Classes>()->monitor.New({info[0], info.Env().Undefined(), info[1]});
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
  // The lists of a full node are megabytes: they are read where they are, and held until the work is over.
  Napi::Value Diff(const Napi::CallbackInfo& info) {
    const auto sandboxes = info[0].As<Napi::Uint8Array>(), containers = info[1].As<Napi::Uint8Array>();
    const Bytes sandboxBytes{sandboxes.Data(), sandboxes.ByteLength()};
    const Bytes containerBytes{containers.Data(), containers.ByteLength()};
    const auto held = std::make_shared<Napi::ObjectReference>(Napi::Persistent(Napi::Object::New(info.Env())));
    held->Set("sandboxes", sandboxes);
    held->Set("containers", containers);
    return PromiseWork<pleg::Changes>::Start(
        info.Env(),
        [differ = differ_, sandboxBytes, containerBytes] { return differ->Diff(sandboxBytes, containerBytes); },
        [held](Napi::Env env, pleg::Changes changes) {
          auto out = Napi::Object::New(env);
          out.Set("changed", ToBuffer(env, std::move(changes.json)));
          out.Set("token", Napi::Number::New(env, static_cast<double>(changes.token)));
          return out;
        });
  }

  void Commit(const Napi::CallbackInfo& info) {
    differ_->Commit(static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value()));
  }

  Napi::Value Pods(const Napi::CallbackInfo& info) { return ToBuffer(info.Env(), differ_->Pods()); }


  std::shared_ptr<pleg::Differ> differ_ = std::make_shared<pleg::Differ>();
};

Napi::Value OpenPleg(const Napi::CallbackInfo& info) { return info.Env().GetInstanceData<Classes>()->pleg.New({}); }

// Takes the mounts, the groups as lines, and a byte a group that says whether its network is wanted; gives rows of doubles.
Napi::Value ReadCgroups(const Napi::CallbackInfo& info) {
  const auto given = info[0].As<Napi::Object>();
  const auto text = [&given](const char* name) { return given.Get(name).As<Napi::String>().Utf8Value(); };
  const cgroup::Mounts mounts{given.Get("v2").ToBoolean(), text("cpu"), text("cpuacct"), text("memory"), text("pids")};
  const std::string groups = info[1].As<Napi::String>().Utf8Value();
  const auto network = info[2].As<Napi::Uint8Array>();
  std::vector<cgroup::Request> requests;
  for (size_t start = 0, i = 0; start < groups.size() && i < network.ByteLength(); i++) {
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
      info.Env(), [path = info[0].As<Napi::String>().Utf8Value()] { return NetNs::Create(path), true; },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

Napi::Value RemoveNetNs(const Napi::CallbackInfo& info) {
  return PromiseWork<bool>::Start(
      info.Env(), [path = info[0].As<Napi::String>().Utf8Value()] { return NetNs::Remove(path), true; },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

Napi::Value TxChecksum(const Napi::CallbackInfo& info) {
  return PromiseWork<bool>::Start(
      info.Env(),
      [spec = ReadNetNs(info[0]), device = info[1].As<Napi::String>().Utf8Value()] { return ReadTxChecksum(spec.Open(), device); },
      [](Napi::Env env, bool on) { return Napi::Boolean::New(env, on); });
}

Napi::Value SetTxChecksum(const Napi::CallbackInfo& info) {
  return PromiseWork<bool>::Start(
      info.Env(),
      [spec = ReadNetNs(info[0]), device = info[1].As<Napi::String>().Utf8Value(), on = info[2].As<Napi::Boolean>().Value()] {
        return WriteTxChecksum(spec.Open(), device, on), true;
      },
      [](Napi::Env env, bool) { return env.Undefined(); });
}

Napi::Value IsRefused(const Napi::CallbackInfo& info) {
  const auto text = [&info](size_t at) { return info[at].As<Napi::String>().Utf8Value(); };
  return PromiseWork<bool>::Start(
      info.Env(),
      [spec = ReadNetNs(info[0]), from = text(1), to = text(2), timeoutMs = info[3].As<Napi::Number>().Int32Value()] {
        return IsDatagramRefused(spec.Open(), from, to, timeoutMs);
      },
      [](Napi::Env env, bool refused) { return Napi::Boolean::New(env, refused); });
}

RunRequest ReadRunRequest(const Napi::CallbackInfo& info) {
  RunRequest request;
  const auto argv = info[0].As<Napi::Array>();
  for (uint32_t i = 0; i < argv.Length(); ++i) request.argv.push_back(Napi::Value(argv[i]).As<Napi::String>().Utf8Value());
  const auto input = info[2].As<Napi::Array>();
  for (uint32_t i = 0; i < input.Length(); ++i) request.input.push_back(ReadBuffer(input[i]));
  const auto options = info[3].As<Napi::Object>();
  request.timeoutMs = options.Get("timeoutMs").As<Napi::Number>().Int32Value();
  request.maxOutput = static_cast<size_t>(options.Get("maxOutputBytes").As<Napi::Number>().Int64Value());
  const auto environment = options.Get("env").As<Napi::Object>();
  const auto names = environment.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const auto name = Napi::Value(names[i]).As<Napi::String>();
    request.environment.emplace_back(name.Utf8Value(), environment.Get(name).As<Napi::String>().Utf8Value());
  }
  return request;
}

// The shape of Node's own spawnSync results.
Napi::Value ToRunResult(Napi::Env env, RunResult result) {
  auto out = Napi::Object::New(env);
  const bool exited = result.signal == 0;
  const char* name = exited ? nullptr : sigabbrev_np(result.signal);
  out.Set("status", exited ? Napi::Value(Napi::Number::New(env, result.status)) : env.Null());
  out.Set("signal", exited ? env.Null() : Napi::Value(Napi::String::New(env, std::string("SIG") + (name ? name : std::to_string(result.signal)))));
  out.Set("stdout", ToBuffer(env, std::move(result.output)));
  out.Set("stderr", ToBuffer(env, std::move(result.error)));
  return out;
}

Napi::Value Run(const Napi::CallbackInfo& info) {
  return PromiseWork<RunResult>::Start(
      info.Env(), [request = ReadRunRequest(info), spec = ReadNetNs(info[1])] { return RunProgram(request, spec.Open()); }, ToRunResult);
}

// Not on a libuv thread: the file is unmapped by this one alone, and an address that is unmapped meanwhile may be
// somebody else's memory.
Napi::Value ReleaseMapped(const Napi::CallbackInfo& info) {
  try {
    return Napi::Number::New(info.Env(), static_cast<double>(ReleaseMappedPages(info[0].As<Napi::String>().Utf8Value())));
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
  try {
    return Napi::Boolean::New(info.Env(), TryLockFile(info[0].As<Napi::Number>().Int32Value()));
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
  exports.Set("open", Napi::Function::New<OpenChannel>(env, "open"));
  exports.Set("watchRoutes", Napi::Function::New<WatchRoutes>(env, "watchRoutes"));
  exports.Set("watchNft", Napi::Function::New<WatchNft>(env, "watchNft"));
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
  exports.Set("removeNetNs", Napi::Function::New<RemoveNetNs>(env, "removeNetNs"));
  return exports;
}

}  // namespace

NODE_API_MODULE(trellis, Init)

}  // namespace trellis
