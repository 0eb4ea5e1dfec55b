package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http2.PeerConnection;
import io.netty.handler.codec.http2.Http2Error;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** When calls that nobody waits for are reset. */
class LeftCallsTest {
  private static final Object CLIENT = "a client";

  private final AtomicLong clock = new AtomicLong(7);
  private final List<String> resets = new ArrayList<>();
  private final LeftCalls left =
      new LeftCalls(
          new LeftCalls.Streams() {
            @Override
            public void reset(int id, Http2Error error) {
              resets.add(id + " " + error);
            }

            @Override
            public void later(Runnable task, long nanos) {}
          },
          clock::get);

  @Test
  void shouldResetNothingThatTheServerEndsInTime() {
    left.letEnd(1, CLIENT);
    left.letEnd(3, CLIENT);
    left.closed(1);
    pass(999);
    assertThat(resets).isEmpty();
    pass(1);
    assertThat(resets).containsExactly("3 CANCEL");
    assertThat(left.size()).isZero();
  }

  @Test
  void shouldStayBelowWhatAServerAllowsInAnyTenSeconds() {
    List<Integer> perSecond = new ArrayList<>();
    int id = 1;
    for (int second = 0; second < 30; second++) {
      int before = resets.size();
      for (int i = 0; i < 200; i++, id += 2) {
        left.reset(id, CLIENT, Http2Error.CANCEL);
        pass(5);
      }
      perSecond.add(resets.size() - before);
    }
    for (int from = 0; from + 10 <= perSecond.size(); from++) {
      int sum = perSecond.subList(from, from + 10).stream().mapToInt(Integer::intValue).sum();
      assertThat(sum).isLessThan(PeerConnection.MOST_RESETS * 3 / 4);
    }
    assertThat(resets.size()).isGreaterThan(3_000);
  }

  @Test
  void shouldTakeNoMoreCallsOfAClientThatHasLeftTooMany() {
    for (int i = 0; i < LeftCalls.MOST_OF_CLIENT; i++) {
      assertThat(left.hasMostOf(CLIENT)).isFalse();
      left.letEnd(2 * i + 1, CLIENT);
    }
    assertThat(left.hasMostOf(CLIENT)).isTrue();
    assertThat(left.hasMostOf("another")).isFalse();
    left.closed(1);
    assertThat(left.hasMostOf(CLIENT)).isFalse();
  }

  @Test
  void shouldStopTheRequestOfACallThatTheServerHasAnswered() {
    left.letEnd(1, CLIENT);
    left.answered(1);
    assertThat(resets).containsExactly("1 NO_ERROR");
  }

  private void pass(long millis) {
    clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    left.look();
  }
}
