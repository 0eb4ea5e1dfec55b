#include <memory>
#include <new>

#include "dev_roundhouse_pjrt_PjrtEvent.h"
#include "pjrt_call.h"

using roundhouse::Api;
using roundhouse::Args;
using roundhouse::Handle;

namespace {

JavaVM* java_vm = nullptr;
jclass event_class = nullptr;
jmethodID event_ready = nullptr;

// Makes a thread of the plugin's a daemon thread of the JVM with its first callback, until the thread ends.
class Attachment {
 public:
  ~Attachment() {
    if (attached_) java_vm->DetachCurrentThread();
  }

  // Null when the JVM takes no more threads, as it is ending.
  JNIEnv* Env() {
    void* env = nullptr;
    if (java_vm->GetEnv(&env, JNI_VERSION_10) == JNI_OK) return static_cast<JNIEnv*>(env);
    static char name[] = "pjrt-callback";
    JavaVMAttachArgs args = {JNI_VERSION_10, name, nullptr};
    attached_ = java_vm->AttachCurrentThreadAsDaemon(&env, &args) == JNI_OK;
    return attached_ ? static_cast<JNIEnv*>(env) : nullptr;
  }

 private:
  bool attached_ = false;
};

thread_local Attachment attachment;

struct Callback {
  const PJRT_Api* api;
  jobject runnable;  // a global reference
};

// Called once per event by whichever thread made it ready. The error is for whoever awaits the event.
void OnReady(PJRT_Error* error, void* argument) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(argument));
  roundhouse::Destroy(callback->api, error);
  JNIEnv* env = attachment.Env();
  if (env == nullptr) return;
  env->CallStaticVoidMethod(event_class, event_ready, callback->runnable);
  if (env->ExceptionCheck()) env->ExceptionClear();
  env->DeleteGlobalRef(callback->runnable);
}

}  // namespace

bool roundhouse::LoadEvents(JavaVM* vm, JNIEnv* env) {
  java_vm = vm;
  event_class = Class(env, "dev/roundhouse/pjrt/PjrtEvent");
  if (event_class == nullptr) return false;
  event_ready = env->GetStaticMethodID(event_class, "ready", "(Ljava/lang/Runnable;)V");
  return event_ready != nullptr;
}

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtEvent_await(JNIEnv* env, jclass, jlong api, jlong event) try {
  Args<PJRT_Event_Await_Args> args;
  args->event = Handle<PJRT_Event>(event);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Event_Await, args);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT jboolean JNICALL Java_dev_roundhouse_pjrt_PjrtEvent_isReady(JNIEnv* env, jclass, jlong api,
                                                                                jlong event) try {
  Args<PJRT_Event_IsReady_Args> args;
  args->event = Handle<PJRT_Event>(event);
  return ROUNDHOUSE_CALL(env, Api(api), PJRT_Event_IsReady, args) && args->is_ready;
} ROUNDHOUSE_CATCH(env, JNI_FALSE)

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtEvent_destroy(JNIEnv* env, jclass, jlong api, jlong event) try {
  roundhouse::Destroy(Api(api), Handle<PJRT_Event>(event));
} ROUNDHOUSE_CATCH(env, )

// The plugin calls back at once, on this thread, when the event is ready already.
extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtEvent_onReady(JNIEnv* env, jclass, jlong api, jlong event,
                                                                            jobject runnable) try {
  auto callback = std::make_unique<Callback>(Callback{Api(api), nullptr});
  callback->runnable = env->NewGlobalRef(runnable);
  if (callback->runnable == nullptr) throw std::bad_alloc();
  Args<PJRT_Event_OnReady_Args> args;
  args->event = Handle<PJRT_Event>(event);
  args->callback = OnReady;
  args->user_arg = callback.get();
  if (ROUNDHOUSE_CALL(env, Api(api), PJRT_Event_OnReady, args)) {
    callback.release();
  } else {
    env->DeleteGlobalRef(callback->runnable);
  }
} ROUNDHOUSE_CATCH(env, )
