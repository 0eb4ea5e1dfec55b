package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class VirtualTagsTest {
  private final VirtualTags tags = new VirtualTags();

  @BeforeEach
  void makeRoom() {
    tags.ensureSlot(2_000);
  }

  @Test
  void shouldMoveATagByWhatABatchCostsAndTheClockToWhereItBegan() {
    charge(0, 100);
    assertThat(tags.tag(0)).isEqualTo(100);
    assertThat(tags.clock()).isZero();
    charge(0, 20);
    assertThat(tags.tag(0)).isEqualTo(120);
    assertThat(tags.clock()).isEqualTo(100);
  }

  @Test
  void shouldLeaveTheClockWhenABatchRunsOutOfTurn() {
    charge(0, 100);
    tags.charge(0, 50, 1, false, false);
    assertThat(tags.tag(0)).isEqualTo(150);
    assertThat(tags.clock()).isZero();
  }

  @Test
  void shouldStartAtTheClockWhenAModelThatIdledRunsOutOfTurn() {
    charge(0, 100);
    charge(0, 1);
    tags.charge(3, 7, 2, false, true);
    assertThat(tags.tag(3)).isEqualTo(100 + 7 * 2);
  }

  @Test
  void shouldStartARunPastTheClockWhenAModelReturnsThatTheClockHasPassed() {
    charge(1, 30);
    charge(2, 120);
    charge(0, 100);
    charge(0, 50); // clock 100, and the last run in turn was 50
    assertThat(tags.start(2)).as("the clock is not there yet").isEqualTo(120);
    tags.join(1);
    assertThat(tags.tag(1)).as("its own last run is the shorter").isEqualTo(130);
    charge(0, 40); // clock 150
    tags.join(2);
    assertThat(tags.tag(2)).as("the last run in turn is the shorter").isEqualTo(190);
    tags.join(3);
    assertThat(tags.tag(3)).as("never ran").isEqualTo(150);
  }

  @Test
  void shouldFindAgainWhereAModelReturnedWhenTheClockWasWrong() {
    charge(1, 70);
    settle(1, 70);
    charge(0, 100);
    charge(0, 50);
    tags.join(1); // the clock is at 100, and the last run in turn took 50
    assertThat(tags.tag(1)).isEqualTo(150);
    assertThat(tags.correct(0, 50, 0)).isTrue();
    assertThat(tags.tag(1)).as("the clock is at 0 again").isEqualTo(70);
    assertThat(tags.correct(0, 100, 20)).isTrue();
    tags.dropFinal();
    charge(0, 60);
    charge(0, 10); // clock 80
    tags.forget(1);
    assertThat(tags.start(1)).as("forgotten with its last run").isEqualTo(80);
  }

  @Test
  void shouldCorrectWhatStartedAtAClockThatWasWrong() {
    charge(0, 100);
    charge(0, 5);
    tags.join(1); // at 100, for the first batch is still an estimate
    assertThat(tags.tag(1)).isEqualTo(100);
    assertThat(tags.correct(0, 100, 30)).isTrue();
    assertThat(moved()).contains(0, 1);
    tags.dropFinal();
    assertThat(tags.tag(0)).isEqualTo(35);
    assertThat(tags.clock()).isEqualTo(30);
    assertThat(tags.tag(1)).isEqualTo(30);
    assertThat(tags.size()).as("the second batch and who joined").isEqualTo(2);
    assertThat(tags.correct(0, 5, 5)).isTrue();
    tags.dropFinal();
    assertThat(tags.size()).isZero();
  }

  @Test
  void shouldWriteNothingDownWhileEveryCostIsKnown() {
    charge(0, 10);
    charge(0, 1);
    settle(0, 10);
    settle(0, 1);
    tags.join(1);
    assertThat(tags.tag(1)).isEqualTo(10);
    assertThat(tags.size()).isZero();
  }

  @Test
  void shouldCorrectTheOldestOfEqualCharges() {
    charge(0, 10);
    charge(1, 10);
    charge(0, 10);
    tags.join(2); // at 10, where the third began
    assertThat(tags.correct(0, 10, 4)).isTrue();
    tags.dropFinal();
    assertThat(tags.tag(2)).as("the third began at 4").isEqualTo(4);
    assertThat(tags.correct(0, 10, 90)).isTrue();
    assertThat(tags.tag(2)).isEqualTo(4);
    assertThat(tags.tag(0)).isEqualTo(94);
  }

  @Test
  void shouldSayWhenThereIsNoSuchCharge() {
    charge(0, 10);
    assertThat(tags.correct(1, 10, 4)).isFalse();
    assertThat(tags.correct(0, 11, 4)).isFalse();
    settle(0, 10);
    assertThat(tags.correct(0, 10, 4)).isFalse();
    assertThat(tags.tag(0)).isEqualTo(10);
  }

  @Test
  void shouldTakeBackWhatAForgottenModelDidToTheClock() {
    charge(1, 40);
    charge(0, 100);
    charge(0, 100);
    tags.join(1_999); // at 100
    charge(1, 3);
    tags.forget(0);
    assertThat(moved()).contains(1, 1_999).doesNotContain(0);
    assertThat(tags.tag(0)).isZero();
    assertThat(tags.tag(1)).isEqualTo(43);
    assertThat(tags.tag(1_999)).as("joined when nothing but the first had begun").isZero();
    assertThat(tags.clock()).isEqualTo(40);
    tags.dropFinal();
    assertThat(tags.correct(0, 100, 1)).isFalse();
    settle(1, 40);
    settle(1, 3);
    assertThat(tags.size()).isZero();
    assertThat(tags.tag(1)).isEqualTo(43);
  }

  @Test
  void shouldChangeTheUnitOfEverything() {
    charge(0, 100);
    charge(0, 40);
    tags.join(1);
    tags.join(2_000);
    tags.scale(0.5);
    assertThat(tags.tag(0)).isEqualTo(70);
    assertThat(tags.tag(1)).isEqualTo(50);
    assertThat(tags.tag(2_000)).isEqualTo(50);
    assertThat(tags.clock()).isEqualTo(50);
    assertThat(tags.correct(0, 40, 20)).isTrue();
    assertThat(tags.tag(0)).isEqualTo(60);
    assertThat(tags.correct(0, 100, 10)).isTrue();
    assertThat(tags.tag(0)).isEqualTo(15);
    assertThat(tags.tag(1)).isEqualTo(5);
  }

  @Test
  void shouldTakeBackToWhereItStoodInTheNewUnit() {
    charge(0, 100);
    charge(0, 60);
    settle(0, 100);
    settle(0, 60); // tag 160, clock 100
    charge(0, 8);
    tags.scale(0.5);
    assertThat(tags.correct(0, 8, 4)).isTrue();
    assertThat(tags.tag(0)).isEqualTo(82);
    assertThat(tags.clock()).isEqualTo(80);
    tags.dropFinal();
    charge(0, 10);
    tags.scale(0.5);
    tags.forget(1);
    tags.forget(0);
    assertThat(tags.clock()).as("of what was final").isEqualTo(40);
  }

  @Test
  void shouldTakeStepsBackInTheNewUnit() {
    charge(0, 100);
    charge(1, 100);
    charge(0, 40);
    tags.scale(0.5);
    tags.forget(1);
    assertThat(tags.tag(0)).isEqualTo(70);
    assertThat(tags.clock()).isEqualTo(50);
    charge(2, 8);
    assertThat(tags.correct(2, 8, 0)).isTrue();
    assertThat(tags.clock()).isEqualTo(50);
    assertThat(tags.correct(0, 40, 0)).isTrue();
    assertThat(tags.tag(0)).isEqualTo(50);
  }

  @Test
  void shouldMakeRoomForAnySlot() {
    assertThat(Slots.lengthFor(15, 16)).isEqualTo(16);
    assertThat(Slots.lengthFor(16, 16)).isEqualTo(32);
    assertThat(Slots.lengthFor(1_000, 16)).isEqualTo(1_001);
  }

  private void charge(int slot, long nanos) {
    tags.charge(slot, nanos, 1, true, false);
  }

  private void settle(int slot, long nanos) {
    assertThat(tags.correct(slot, nanos, nanos)).isTrue();
    tags.dropFinal();
  }

  private int[] moved() {
    int[] slots = new int[tags.size()];
    for (int step = 0; step < slots.length; step++) {
      slots[step] = tags.slot(step);
    }
    return slots;
  }
}
