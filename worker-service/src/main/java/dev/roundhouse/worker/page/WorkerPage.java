package dev.roundhouse.worker.page;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.platform.page.PageFeed;

/** What a worker's live page shows; {@code docs/ui.md} describes the events. */
public final class WorkerPage implements PageFeed {
  private final Moments moments;
  private final Changes changes;

  public WorkerPage(Engine engine, NanoClock clock, Changes changes) {
    this.changes = changes;
    moments = new Moments(engine, clock);
  }

  @Override
  public Reader open() {
    return new View(moments::now, changes);
  }
}
