package dev.roundhouse.transport.forward;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The copy of one call, if there is one. It ends once, and costs the call nothing. */
final class Copying {
  private static final Logger log = LoggerFactory.getLogger(Copying.class);

  private @Nullable PassingCopy copy;
  private boolean asked;

  /** True until {@link #begin}. */
  boolean isToBegin() {
    return !asked;
  }

  /**
   * A server has been chosen.
   *
   * @param by null when this call is not copied
   */
  void begin(@Nullable PassingCopy by) {
    asked = true;
    copy = by;
  }

  boolean isOn() {
    return copy != null;
  }

  void request(ByteBuf part) {
    if (copy != null) {
      guarded(each -> each.request(part));
    }
  }

  void requestEnd() {
    if (copy != null) {
      guarded(PassingCopy::requestEnd);
    }
  }

  void answerHead(int code, HttpHeaders headers) {
    if (copy != null) {
      guarded(each -> each.answerHead(code, headers));
    }
  }

  void answer(ByteBuf part) {
    if (copy != null) {
      guarded(each -> each.answer(part));
    }
  }

  /** No effect the second time. */
  void end(boolean answered) {
    PassingCopy by = copy;
    if (by != null) {
      copy = null;
      end(by, answered, null);
    }
  }

  private void guarded(Consumer<PassingCopy> told) {
    PassingCopy by = copy;
    if (by == null) {
      return;
    }
    try {
      told.accept(by);
    } catch (RuntimeException | Error e) {
      copy = null;
      end(by, false, e);
    }
  }

  /**
   * Throws nothing.
   *
   * @param why it ends early; null when it does not
   */
  private static void end(PassingCopy by, boolean answered, @Nullable Throwable why) {
    try {
      by.end(answered);
      if (why != null) {
        log.error("a call could not be copied", why);
      }
    } catch (RuntimeException | Error e) {
      say(e);
    }
  }

  private static void say(Throwable why) {
    try {
      log.error("the copy of a call could not be ended", why);
    } catch (RuntimeException | Error unsaid) {
      // no memory to say it in, and the call goes on
    }
  }
}
