package dev.roundhouse.simulation.study;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StudyTest {
  private static final Duration SHORT = Duration.ofSeconds(2);

  @Test
  void shouldKeepTheBoundWhenTimeIsVirtual() {
    assertThat(points(new FairnessStudy()))
        .filteredOn(point -> point.cell().endsWith("gap, virtual-time"))
        .hasSize(3)
        .allSatisfy(point -> assertThat(point.ratio()).isBetween(0.5, 1.0));
  }

  @Test
  void shouldHoldSharesBesideIdleModels() {
    List<Point> points = points(new IdleStudy());
    assertThat(points).extracting(Point::cell).doesNotHaveDuplicates();
    assertThat(points)
        .filteredOn(point -> point.goal() != null)
        .hasSize(18)
        .allSatisfy(point -> assertThat(point.ratio()).as(point.cell()).isLessThanOrEqualTo(1));
  }

  @Test
  void shouldCompareEveryStepWhenLoadRises() {
    List<Point> points = points(new CoalescingStudy());
    assertThat(points).hasSize(24).allSatisfy(point -> assertThat(point.ratio()).isPositive());
    assertThat(points)
        .filteredOn(point -> point.goal() != null)
        .allSatisfy(point -> assertThat(point.ratio()).as(point.cell()).isGreaterThan(0.95));
    assertThat(points).extracting(Point::cell).doesNotHaveDuplicates();
  }

  @Test
  void shouldLeaveAnswersInTimeWhenOverloaded() {
    List<Point> points = points(new OverloadStudy());
    assertThat(points).extracting(Point::cell).doesNotHaveDuplicates();
    assertThat(ratio(points, "3.00x offered, edf: in time, vs capacity"))
        .isGreaterThan(3 * ratio(points, "3.00x offered, fifo: in time, vs capacity"));
  }

  private static double ratio(List<Point> points, String cell) {
    return points.stream()
        .filter(point -> point.cell().equals(cell))
        .findFirst()
        .orElseThrow()
        .ratio();
  }

  private static List<Point> points(Study study) {
    List<Point> points = new ArrayList<>();
    study.run(SHORT, points::add);
    return points;
  }
}
