package dev.roundhouse.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.forward.CallRouter.Route;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** How long a call waits before it is sent twice, and how many are. */
class HedgingTest {
  private static final long MILLI = 1_000_000;

  @Test
  void shouldSendNothingTwiceUnlessItIsOn() {
    assertThat(Hedging.OFF.begin("m")).isEqualTo(Route.NEVER);
    assertThat(new Hedging(5 * MILLI, 0, 0.05).begin("m")).isEqualTo(5 * MILLI);
  }

  @Test
  void shouldWaitAsLongAsMostRecentCallsOfTheModelDid() {
    Hedging hedging = new Hedging(5 * MILLI, 0.9, 1);
    for (int i = 1; i < FirstAnswers.LEAST; i++) {
      hedging.answered("m", i * MILLI);
    }
    assertThat(hedging.begin("m")).as("too few to say").isEqualTo(5 * MILLI);
    hedging.answered("m", 100 * MILLI);
    assertThat(hedging.begin("m")).as("of 1, 2, ... 100 ms").isEqualTo(90 * MILLI);
    assertThat(hedging.begin("other")).isEqualTo(5 * MILLI);
    for (int i = 0; i < 600; i++) {
      hedging.answered("m", MILLI);
    }
    assertThat(hedging.begin("m")).as("never less than the delay").isEqualTo(5 * MILLI);
    hedging.retain(Set.of("other"));
    assertThat(hedging.begin("m")).isEqualTo(5 * MILLI);
  }

  @Test
  void shouldSaveUpNoMoreThanAFewAfterManyCallsWithoutOne() {
    Hedging hedging = new Hedging(MILLI, 0, 0.05);
    assertThat(hedging.take()).as("there was no call yet").isFalse();
    for (int i = 0; i < 10_000; i++) {
      var unused = hedging.begin("m");
    }
    int taken = 0;
    while (hedging.take()) {
      taken++;
    }
    assertThat(taken).isEqualTo(10);
    hedging.giveBack();
    assertThat(hedging.take()).as("what was given back").isTrue();
    hedging.started();
    assertThat(hedging.startedEver()).isEqualTo(1);
    assertThat(hedging.refusedEver()).isEqualTo(2);
  }
}
