package dev.roundhouse.engine.recording;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A large block of answers' memory comes from the system, or goes back to it. */
@Name("dev.roundhouse.AnswerMemory")
@Label("Answer Memory")
@Category("Roundhouse")
@Description("A large block of answers' memory comes from the system, or goes back to it")
@StackTrace(false)
public final class AnswerMemoryEvent extends Event {
  @Label("Size")
  @DataAmount
  long bytes;

  @Label("Freed")
  boolean freed;

  @Label("Idle")
  @Description("Bytes of large blocks that lie idle")
  @DataAmount
  long idleBytes;

  private AnswerMemoryEvent() {}

  public static void tell(long bytes, boolean freed, long idleBytes) {
    AnswerMemoryEvent event = new AnswerMemoryEvent();
    if (event.isEnabled()) {
      event.bytes = bytes;
      event.freed = freed;
      event.idleBytes = idleBytes;
      event.commit();
    }
  }
}
