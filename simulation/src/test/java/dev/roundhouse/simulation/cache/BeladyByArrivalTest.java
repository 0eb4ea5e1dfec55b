package dev.roundhouse.simulation.cache;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.simulation.traffic.Arrival;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class BeladyByArrivalTest {
  private static final List<Arrival> ARRIVALS =
      List.of(
          new Arrival(10, 0),
          new Arrival(20, 1),
          new Arrival(30, 0),
          new Arrival(40, 2),
          new Arrival(50, 1));

  private final AtomicLong now = new AtomicLong(-1);
  private final BeladyByArrival policy = new BeladyByArrival(3, ARRIVALS, now::get);

  BeladyByArrivalTest() {
    for (int model = 0; model < 3; model++) {
      policy.register(model, 100, 7);
      policy.loaded(model, 0);
    }
  }

  @Test
  void shouldLetGoWhatIsCalledLastWhenTimePasses() {
    assertThat(policy.victim()).as("next at 10, 20 and 40").isEqualTo(2);
    now.set(20);
    assertThat(policy.victim()).as("next at 30, 50 and 40").isEqualTo(1);
    now.set(45);
    assertThat(policy.victim()).as("never, at 50 and never").isIn(0, 2);
  }

  @Test
  void shouldNotTakeALoadThatSharedTheLinkForDearer() {
    policy.register(2, 100, 700);
    now.set(25);
    assertThat(policy.victim()).as("next at 30, 50 and 40, all alike").isEqualTo(1);
  }
}
