package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.lane.ModelLane;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whose weights leave for a run that finds too little memory, and how often that is tried. */
class RoomForRunsTest {
  private final LoopParts parts = new LoopParts();
  private final RoomForRuns room = new RoomForRuns(parts.evictions);

  @AfterEach
  void close() {
    parts.close();
  }

  @Test
  void shouldHaveAsManyLeaveAsARunNeedsThenAllAndThenGiveUp() {
    ModelLane runs = parts.addResident("runs");
    ModelLane first = parts.addResident("first");
    ModelLane second = parts.addResident("second");
    ModelLane third = parts.addResident("third");
    assertThat(runs.model().scratchBytes()).isLessThanOrEqualTo(LoopParts.WEIGHT_BYTES);
    assertThat(room.make(runs)).isTrue();
    assertThat(room.isMaking()).as("until they have left").isTrue();
    parts.turnLink();
    assertThat(room.isMaking()).isFalse();
    assertThat(first.isResident()).isFalse();
    assertThat(second.isResident()).isTrue();
    assertThat(room.make(runs)).isTrue();
    parts.turnLink();
    assertThat(second.isResident()).isFalse();
    assertThat(third.isResident()).isFalse();
    assertThat(runs.isResident()).isTrue();
    parts.addResident("fourth");
    assertThat(room.make(runs)).as("that did not help").isFalse();
    assertThat(room.isMaking()).isFalse();
  }

  @Test
  void shouldBeginAnewWhenARunHasFoundEnough() {
    ModelLane runs = parts.addResident("runs");
    for (int i = 0; i < 4; i++) {
      parts.addResident("m" + i);
      assertThat(room.make(runs)).isTrue();
      parts.turnLink();
      room.ran();
    }
    assertThat(room.make(runs)).as("nobody is left").isFalse();
    parts.addResident("late");
    assertThat(room.make(runs)).as("counted anew").isTrue();
  }
}
