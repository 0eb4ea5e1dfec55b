package dev.roundhouse.engine.recording;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;

/** A program was compiled, or came from the cache. */
@Name("dev.roundhouse.Compile")
@Label("Compile")
@Category("Roundhouse")
@Description("A program was compiled, or came from the cache of compiled programs")
@StackTrace(false)
public final class CompileEvent extends Event {
  @Label("Program")
  @Nullable String program;

  @Label("From the cache")
  boolean cached;

  @Label("Time")
  @Timespan(Timespan.NANOSECONDS)
  long nanos;

  private CompileEvent() {}

  public static void tell(String program, boolean cached, long nanos) {
    CompileEvent event = new CompileEvent();
    if (event.isEnabled()) {
      event.program = program;
      event.cached = cached;
      event.nanos = nanos;
      event.commit();
    }
  }
}
