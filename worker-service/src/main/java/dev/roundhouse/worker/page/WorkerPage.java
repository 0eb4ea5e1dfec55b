package dev.roundhouse.worker.page;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.platform.page.PageFeed;

/** What a worker's live page shows; {@code docs/ui.md} describes the events. */
public final class WorkerPage implements PageFeed {
  private final Moments moments;
  private final Changes changes;
  private final boolean recording;

  /**
   * @param recording whether Flight Recorder's recordings can be had on the operators' port
   */
  public WorkerPage(Engine engine, NanoClock clock, Changes changes, boolean recording) {
    this.changes = changes;
    this.recording = recording;
    moments = new Moments(engine, clock);
  }

  @Override
  public Reader open() {
    return new View(moments::now, changes, recording);
  }
}
