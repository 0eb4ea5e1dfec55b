package dev.roundhouse.engine.thread;

import com.sun.jna.Library;
import com.sun.jna.Native;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Has Linux prefer other threads to one. */
final class LowPriority {
  private static final Logger log = LoggerFactory.getLogger(LowPriority.class);

  /** Of the scheduler, a third of the weight of a thread that is left as it is. */
  private static final int NICE = 5;

  private static final int PRIO_PROCESS = 0;

  private interface Calls extends Library {
    int gettid();

    int setpriority(int which, int who, int priority);
  }

  /** The class is loaded, and the library with it, when the first thread asks. */
  private static final class C {
    static final Calls CALLS = Native.load("c", Calls.class);
  }

  private static volatile boolean works = true;

  private LowPriority() {}

  /** Does nothing where the system does not allow it. */
  static void ofThisThread() {
    if (!works) {
      return;
    }
    try {
      if (C.CALLS.setpriority(PRIO_PROCESS, C.CALLS.gettid(), NICE) != 0) {
        throw new UnsupportedOperationException("setpriority is refused");
      }
    } catch (RuntimeException | LinkageError e) {
      works = false;
      log.info("threads for models' code run at the same priority as others: {}", e.toString());
    }
  }
}
