package dev.roundhouse.engine.recording;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** A batch has run on the device, or has failed there. */
@Name("dev.roundhouse.Run")
@Label("Run")
@Category("Roundhouse")
@Description("A batch has run on the device, or has failed there")
@StackTrace(false)
public final class RunEvent extends Event {
  @Label("Model")
  @Nullable String model;

  @Label("Rows")
  int rows;

  @Label("Padding rows")
  int paddingRows;

  @Label("Warm-up")
  boolean warmUp;

  @Label("Failed")
  boolean failed;

  @Label("Time on the device")
  @Timespan(Timespan.NANOSECONDS)
  long computeNanos;

  private RunEvent() {}

  public static void tell(
      String model, int rows, int paddingRows, boolean warmUp, boolean failed, long computeNanos) {
    RunEvent event = new RunEvent();
    if (event.isEnabled()) {
      event.model = model;
      event.rows = rows;
      event.paddingRows = paddingRows;
      event.warmUp = warmUp;
      event.failed = failed;
      event.computeNanos = computeNanos;
      event.commit();
    }
  }
}
