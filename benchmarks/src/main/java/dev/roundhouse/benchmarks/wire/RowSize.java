package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.RowModel;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one request carries each way, how many are outstanding, and the goals beside Triton.
 *
 * @param rate goal with more than one outstanding; null for none
 */
record RowSize(
    String name, RowModel model, List<Integer> outstanding, Goal cpu, @Nullable Goal rate) {
  private static final List<Integer> BATCH_SIZES = List.of(1, 4, 16, 64);

  /** An image of 224 x 224 x 3 numbers. */
  static final RowSize IMAGE =
      new RowSize(
          "588 KiB",
          new RowModel(588 << 10, List.of(1, 4, 16), RowModel.Work.COPY),
          List.of(1, 16),
          Goal.atMost(0.5),
          Goal.atLeast(1.3));

  static final List<RowSize> ALL =
      List.of(
          new RowSize(
              "64 B",
              new RowModel(64, BATCH_SIZES, RowModel.Work.COPY),
              List.of(1, 16, 64),
              Goal.atMost(0.2),
              Goal.atLeast(2.5)),
          new RowSize("4 KiB", RowModel.COPY_FOUR_KIB, List.of(1, 16, 64), Goal.atMost(0.25), null),
          IMAGE);

  static List<RowModel> models() {
    return ALL.stream().map(RowSize::model).toList();
  }
}
