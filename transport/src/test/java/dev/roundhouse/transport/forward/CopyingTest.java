package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CopyingTest {
  private final List<String> told = new ArrayList<>();
  private final Copying copying = new Copying();

  /** Throws when it is told of {@code where}. */
  private PassingCopy throwing(String where) {
    return new PassingCopy() {
      private void tell(String what) {
        told.add(what);
        if (what.equals(where)) {
          throw new OutOfMemoryError("of a test");
        }
      }

      @Override
      public void request(ByteBuf part) {
        tell("request");
      }

      @Override
      public void requestEnd() {
        tell("request end");
      }

      @Override
      public void answer(ByteBuf part) {
        tell("answer");
      }

      @Override
      public void end(boolean answered) {
        tell("end " + answered);
      }
    };
  }

  private void passAll() {
    copying.request(Unpooled.EMPTY_BUFFER);
    copying.requestEnd();
    copying.answer(Unpooled.EMPTY_BUFFER);
    copying.end(true);
    copying.end(false);
  }

  @Test
  void shouldTellOfAllThatPassesAndOnceOfTheEnd() {
    copying.begin(throwing("nowhere"));
    passAll();
    assertThat(told).containsExactly("request", "request end", "answer", "end true");
  }

  @Test
  void shouldTellACopyThatThrewOfTheEndAndOfNothingElse() {
    copying.begin(throwing("request end"));
    passAll();
    assertThat(told).containsExactly("request", "request end", "end false");
    assertThat(copying.isOn()).isFalse();
  }

  @Test
  void shouldThrowNothingWhenTheEndDoes() {
    copying.begin(throwing("end true"));
    passAll();
    assertThat(told).endsWith("answer", "end true");
  }
}
