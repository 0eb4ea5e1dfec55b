package dev.roundhouse.pjrt;

/** The end of something asynchronous. Any number of threads may wait. */
final class PjrtEvent extends NativeHandle {
  private final long api;
  private final String what;

  /**
   * @param what names the work that ends, such as {@code run of digits/model.b1}
   */
  PjrtEvent(PjrtClient client, long address, String what) {
    super(client.openHandleList(), address);
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

  @Override
  String describe() {
    return what;
  }

  @Override
  void free(long address) {
    destroy(api, address);
  }

  private static native void await(long api, long event);

  private static native boolean isReady(long api, long event);

  private static native void destroy(long api, long event);
}
