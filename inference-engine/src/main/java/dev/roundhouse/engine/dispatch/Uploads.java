package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.residency.WeightCache;
import dev.roundhouse.engine.residency.WeightLoad;
import dev.roundhouse.engine.residency.WeightUploader;
import org.jspecify.annotations.Nullable;

/** Access to the uploader, run by its own thread or, in a stepped engine, by the dispatch loop. */
final class Uploads {
  private final WeightUploader uploader;
  private final @Nullable WeightsThread thread;

  /**
   * @param thread turns the uploader; null for the loop
   */
  Uploads(WeightUploader uploader, @Nullable WeightsThread thread) {
    this.uploader = uploader;
    this.thread = thread;
    if (thread != null) {
      thread.open(uploader);
    }
  }

  void begin(WeightLoad load) {
    uploader.load(load);
    wake();
  }

  /** Closes weights before anything that is begun later is uploaded, maybe on another thread. */
  void free(WeightCache.Left left, Runnable then) {
    uploader.free(left, then);
    wake();
  }

  private void wake() {
    if (thread != null) {
      thread.wake();
    }
  }

  /** Turns the uploader if nobody else does; returns how many things that did. */
  int turn() {
    return thread == null ? uploader.turn() : 0;
  }

  /** A load that has ended; null when there is none. */
  @Nullable WeightLoad ended() {
    return uploader.ended();
  }

  boolean hasEnded() {
    return uploader.hasEnded();
  }

  /** True when {@link #turn} has something to do. */
  boolean waitsForTurn() {
    return thread == null && uploader.hasTasks();
  }

  /** Waits for the link, in an engine that is stepped; false, at once, when nothing is on it. */
  boolean await() {
    if (thread != null || !uploader.isBusy()) {
      return false;
    }
    uploader.await();
    return true;
  }

  /** Gives up what is under way and frees it. */
  void close() {
    if (thread == null) {
      uploader.close();
    } else {
      thread.close();
    }
    for (WeightLoad load = ended(); load != null; load = ended()) {
      if (load.failure() == null) {
        load.settle(); // freed with the model
      }
    }
  }
}
