package dev.roundhouse.engine.recording;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** An accepted request was dropped before it ran. */
@Name("dev.roundhouse.Shed")
@Label("Shed")
@Category("Roundhouse")
@Description("An accepted request was dropped before it ran")
@StackTrace(false)
public final class ShedEvent extends Event {
  @Label("Model")
  @Nullable String model;

  @Label("Reason")
  @Nullable String reason;

  private ShedEvent() {}

  /**
   * @param reason the constant's name
   */
  public static void tell(String model, String reason) {
    ShedEvent event = new ShedEvent();
    if (event.isEnabled()) {
      event.model = model;
      event.reason = reason;
      event.commit();
    }
  }
}
