package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.residency.WeightUploader;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Turns the uploader on the thread {@code weights}, which may wait for the link and the disk. */
public final class WeightsThread extends StepThread {
  private @Nullable WeightUploader uploader;

  public WeightsThread(FailStop failStop) {
    super("weights", failStop);
  }

  /** Starts the thread. */
  void open(WeightUploader with) {
    uploader = with;
    start();
  }

  /** What it turns; null before it is opened. Any thread. */
  @Nullable WeightUploader uploader() {
    return uploader;
  }

  @Override
  boolean step() {
    WeightUploader turned = opened();
    if (turned.turn() > 0) {
      wakeDispatch();
      return true;
    }
    if (turned.isBusy()) {
      turned.await();
      return true;
    }
    return false;
  }

  @Override
  void onStop() {
    opened().close();
  }

  /** A load in progress is useless once closed. */
  @Override
  boolean givesUp() {
    return true;
  }

  private WeightUploader opened() {
    return Objects.requireNonNull(uploader, "not open");
  }
}
