package dev.roundhouse.pjrt;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The end of something asynchronous. Any number of threads may wait. */
final class PjrtEvent extends NativeHandle {
  private static final Logger log = LoggerFactory.getLogger(PjrtEvent.class);

  private final long api;
  private final String what;

  /**
   * @param what names the work that ends, such as {@code run of digits/model.b1}
   */
  PjrtEvent(PjrtClient client, String what) {
    super(client.openHandleList());
    this.api = client.api();
    this.what = what;
  }

  /** Waits; throws what went wrong. */
  void await() {
    long event = hold();
    try {
      await(api, event);
    } finally {
      release();
    }
  }

  boolean isReady() {
    long event = hold();
    try {
      return isReady(api, event);
    } finally {
      release();
    }
  }

  /**
   * Has {@code callback} called once the work has ended: by this call when it has already, else on
   * a thread of the plugin's, maybe after this was closed.
   */
  void onReady(Runnable callback) {
    long event = hold();
    try {
      onReady(api, event, callback);
    } finally {
      release();
    }
  }

  /** Calls back. Called by native code too. */
  static void ready(Runnable callback) {
    try {
      callback.run();
    } catch (RuntimeException | Error e) {
      // Above this frame may be the plugin's, which knows no exceptions.
      log.error("a callback that must not throw has thrown", e);
    }
  }

  @Override
  String describe() {
    return what;
  }

  @Override
  void free(long address) {
    destroy(api, address);
  }

  static native void await(long api, long event);

  static native boolean isReady(long api, long event);

  private static native void onReady(long api, long event, Runnable callback);

  static native void destroy(long api, long event);
}
