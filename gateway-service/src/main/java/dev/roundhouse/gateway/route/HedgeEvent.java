package dev.roundhouse.gateway.route;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A request that is slow at one worker is sent to a second. */
@Name("dev.roundhouse.Hedge")
@Label("Hedge")
@Category("Roundhouse")
@Description("A request that is slow at one worker is sent to a second")
@StackTrace(false)
final class HedgeEvent extends Event {
  @Label("Model")
  @Nullable String model;

  @Label("Second worker")
  @Nullable String worker;

  private HedgeEvent() {}

  static void tell(String model, String worker) {
    HedgeEvent event = new HedgeEvent();
    if (event.isEnabled()) {
      event.model = model;
      event.worker = worker;
      event.commit();
    }
  }
}
