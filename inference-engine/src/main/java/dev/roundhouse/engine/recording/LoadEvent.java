package dev.roundhouse.engine.recording;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** A model's weights have come to the device, or could not be brought. */
@Name("dev.roundhouse.Load")
@Label("Load")
@Category("Roundhouse")
@Description("A model's weights have come to the device, or could not be brought")
@StackTrace(false)
public final class LoadEvent extends Event {
  @Label("Model")
  @Nullable String model;

  @Label("Failed")
  boolean failed;

  @Label("Time on the link")
  @Timespan(Timespan.NANOSECONDS)
  long loadNanos;

  private LoadEvent() {}

  public static void tell(String model, boolean failed, long loadNanos) {
    LoadEvent event = new LoadEvent();
    if (event.isEnabled()) {
      event.model = model;
      event.failed = failed;
      event.loadNanos = loadNanos;
      event.commit();
    }
  }
}
