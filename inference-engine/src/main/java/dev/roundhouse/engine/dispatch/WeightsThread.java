package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.residency.LoadLane;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Turns the LOAD lane on the thread {@code weights}, which may wait for the link and the disk. */
public final class WeightsThread extends StepThread {
  private @Nullable LoadLane lane;

  public WeightsThread(FailStop failStop) {
    super("weights", failStop);
  }

  /** Starts the thread. */
  void open(LoadLane with) {
    lane = with;
    start();
  }

  /** What it turns; null before it is opened. Any thread. */
  @Nullable LoadLane lane() {
    return lane;
  }

  @Override
  boolean step() {
    LoadLane turned = opened();
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

  /** A load that is under way is of no use any more. */
  @Override
  boolean givesUp() {
    return true;
  }

  private LoadLane opened() {
    return Objects.requireNonNull(lane, "not open");
  }
}
