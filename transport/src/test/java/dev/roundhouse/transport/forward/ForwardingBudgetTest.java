package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.transport.forward.ForwardingBudget.Use;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ForwardingBudgetTest {
  private static final long STEP = ForwardingBudget.STEP_BYTES;

  @Test
  void shouldKeepWhatIsLeftForCallsThatHaveBegun() {
    ForwardingBudget memory = new ForwardingBudget(800, "raise it");
    assertThat(memory.take(500, Use.AHEAD)).isTrue();
    assertThat(memory.take(1, Use.AHEAD)).isFalse();
    assertThat(memory.hasRoom(Use.KEEP)).isFalse();
    assertThat(memory.take(101))
        .isEqualTo(
            "calls that are sent on hold 500 bytes, this one needs 101 more, and the limit is 600 for calls that begin, of 800; retry later, or raise it");
    assertThat(memory.take(100)).isNull();
    assertThat(memory.take(100, Use.GO_ON)).isTrue();
    assertThat(memory.take(101, Use.ARRIVED)).isFalse();
    assertThat(memory.refusal(101, Use.ARRIVED))
        .contains("hold 700 bytes, this one needs 101 more, and the limit is 800, of 800");
    assertThat(memory.take(100, Use.ARRIVED)).isTrue();
    memory.giveBack(800);
    assertThat(memory.held()).isZero();
  }

  @Test
  void shouldTellOneAfterTheOtherWhenThereIsRoom() {
    ForwardingBudget memory = new ForwardingBudget(80 * STEP, "raise it");
    assertThat(memory.take(70 * STEP, Use.ARRIVED)).isTrue();
    List<String> told = new ArrayList<>();
    Runnable gone = () -> told.add("gone");
    memory.await(gone);
    memory.await(() -> told.add("first"));
    memory.await(() -> told.add("second"));
    memory.forget(gone);
    memory.giveBack(STEP - 1);
    assertThat(told).as("less than a step").isEmpty();
    memory.giveBack(1);
    assertThat(told).containsExactly("first");
    memory.wakeNext();
    assertThat(told).containsExactly("first", "second");
    memory.await(() -> told.add("at once"));
    assertThat(told).endsWith("at once");
  }

  @Test
  void shouldRefuseALimitThatAllowsNothing() {
    assertThatThrownBy(() -> new ForwardingBudget(0, ""))
        .hasMessageContaining("0 bytes is not above 0");
  }
}
