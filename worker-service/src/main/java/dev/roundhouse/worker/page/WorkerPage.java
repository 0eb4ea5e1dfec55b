package dev.roundhouse.worker.page;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.platform.page.Changes;
import dev.roundhouse.platform.page.PageFeed;
import dev.roundhouse.worker.lifecycle.Readiness;

/** What a worker's live page shows; {@code docs/ui.md} describes the events. */
public final class WorkerPage implements PageFeed {
  private final Moments moments;
  private final Readiness readiness;

  public WorkerPage(Engine engine, NanoClock clock, Readiness readiness) {
    this.readiness = readiness;
    moments = new Moments(engine, clock);
  }

  @Override
  public Reader open(Changes changes) {
    return new View(moments::now, this::serving, changes);
  }

  private Serving serving() {
    return new Serving(readiness.isReady(), readiness.drainingSince() != null);
  }
}
