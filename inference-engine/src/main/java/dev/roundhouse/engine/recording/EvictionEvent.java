package dev.roundhouse.engine.recording;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A model's weights leave the device, for others. */
@Name("dev.roundhouse.Eviction")
@Label("Eviction")
@Category("Roundhouse")
@Description("A model's weights leave the device, for others")
@StackTrace(false)
public final class EvictionEvent extends Event {
  @Label("Model")
  @Nullable String model;

  private EvictionEvent() {}

  public static void tell(String model) {
    EvictionEvent event = new EvictionEvent();
    if (event.isEnabled()) {
      event.model = model;
      event.commit();
    }
  }
}
