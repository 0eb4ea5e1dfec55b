package dev.roundhouse.engine.thread;

import com.sun.jna.Library;
import com.sun.jna.Native;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Has Linux prefer other threads to those that run models' code. Thread-safe. */
public final class LowPriority {
  private static final Logger log = LoggerFactory.getLogger(LowPriority.class);

  /**
   * Above the process's own: of the scheduler, a third of the weight of a thread that is left as it
   * is.
   */
  private static final int NICER = 5;

  private static final int LOWEST = 19;

  private static final int PRIO_PROCESS = 0;

  private interface Calls extends Library {
    int gettid();

    int getpriority(int which, int who);

    int setpriority(int which, int who, int priority);
  }

  /** The class is loaded, and the library with it, when the first thread asks. */
  private static final class C {
    static final Calls CALLS = Native.load("c", Calls.class);
  }

  private static volatile boolean works = true;

  /** Those of low priority that live. */
  private static final Map<Thread, Known> KNOWN = new ConcurrentHashMap<>();

  private static final class Known {
    final int id;
    volatile boolean lowest;

    Known(int id) {
      this.id = id;
    }
  }

  private LowPriority() {}

  /** Does nothing where the system does not allow it. {@link #forgetThisThread} follows. */
  static void ofThisThread() {
    if (!works) {
      return;
    }
    try {
      // of the main thread, as this one may have been started by one of low priority
      int own = C.CALLS.getpriority(PRIO_PROCESS, (int) ProcessHandle.current().pid());
      int nice = Math.min(LOWEST, own + NICER);
      int id = C.CALLS.gettid();
      set(id, nice);
      KNOWN.put(Thread.currentThread(), new Known(id));
    } catch (RuntimeException | LinkageError e) {
      works = false;
      log.info("threads for models' code run at the same priority as others: {}", e.toString());
    }
  }

  private static void set(int id, int nice) {
    if (C.CALLS.setpriority(PRIO_PROCESS, id, nice) != 0) {
      throw new UnsupportedOperationException("setpriority is refused");
    }
  }

  /**
   * Gives a thread that nobody waits for any more what others leave over: a seventieth of the
   * weight of one that is left as it is. It keeps that, as only root could give it more again.
   */
  public static void lowest(Thread thread) {
    Known known = KNOWN.get(thread);
    if (known == null) {
      return; // an application's own
    }
    known.lowest = true;
    try {
      set(known.id, LOWEST);
    } catch (RuntimeException e) {
      log.debug("thread {} goes on at the priority that it has", thread.getName(), e);
    }
  }

  static boolean isLowest(Thread thread) {
    Known known = KNOWN.get(thread);
    return known != null && known.lowest;
  }

  static void forgetThisThread() {
    KNOWN.remove(Thread.currentThread());
  }
}
