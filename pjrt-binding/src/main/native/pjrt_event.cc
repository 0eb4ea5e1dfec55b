#include "dev_roundhouse_pjrt_PjrtEvent.h"
#include "pjrt_call.h"

using roundhouse::Api;
using roundhouse::Args;
using roundhouse::Handle;

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtEvent_await(JNIEnv* env, jclass, jlong api, jlong event) {
  Args<PJRT_Event_Await_Args> args;
  args->event = Handle<PJRT_Event>(event);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Event_Await, args);
}

extern "C" JNIEXPORT jboolean JNICALL Java_dev_roundhouse_pjrt_PjrtEvent_isReady(JNIEnv* env, jclass, jlong api,
                                                                                jlong event) {
  Args<PJRT_Event_IsReady_Args> args;
  args->event = Handle<PJRT_Event>(event);
  return ROUNDHOUSE_CALL(env, Api(api), PJRT_Event_IsReady, args) && args->is_ready;
}

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtEvent_destroy(JNIEnv*, jclass, jlong api, jlong event) {
  roundhouse::Destroy(Api(api), Handle<PJRT_Event>(event));
}
