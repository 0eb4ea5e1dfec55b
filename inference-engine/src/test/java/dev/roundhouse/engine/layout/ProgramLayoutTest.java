package dev.roundhouse.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProgramLayoutTest {
  private final List<Staging> opened = new ArrayList<>();
  private final ProgramLayout layout =
      new ProgramLayout(
          List.of(spec("ids", DType.I32, 3), spec("mask", DType.BOOL, 70)),
          List.of(type(DType.I32, 4, 3), type(DType.BOOL, 4, 70)),
          List.of(spec("y", DType.F32, 5), spec("z", DType.F32, 1)),
          List.of(type(DType.F32, 4, 5), type(DType.F32, 4, 1)));

  @AfterEach
  void close() {
    opened.forEach(Staging::close);
  }

  @Test
  void shouldPutEachInputWhereDevicesReadInPlace() {
    assertThat(layout.stagingOffset(0)).isZero();
    assertThat(layout.stagingOffset(1)).as("48 bytes before it").isEqualTo(64);
    assertThat(layout.stagingBytes()).as("64 and 280").isEqualTo(64 + 320);
    assertThat(ProgramLayout.stagingBytes(List.of(type(DType.I32, 4, 3), type(DType.BOOL, 4, 70))))
        .isEqualTo(layout.stagingBytes());
    assertThat(layout.outputBytes()).isEqualTo(80 + 16);
    assertThat(layout.inputCount()).isEqualTo(2);
    assertThat(layout.outputCount()).isEqualTo(2);
    assertThat(layout.input(1).spec().name()).isEqualTo("mask");
    assertThat(layout.output(1).spec().name()).isEqualTo("z");
  }

  @Test
  void shouldFindAnInputInEveryStagingMemoryAndFollowItsGrowth() {
    Staging third = staging(2);
    MemorySegment inThird = layout.staged(1, third);
    assertThat(inThird.address()).isEqualTo(third.memory().address() + 64);
    assertThat(inThird.byteSize()).isEqualTo(280);
    Staging first = staging(0);
    assertThat(layout.staged(0, first).address()).isEqualTo(first.memory().address());
    assertThat(layout.staged(1, third)).as("made once").isSameAs(inThird);
    Staging fifth = staging(4);
    assertThat(layout.staged(0, fifth).address()).isEqualTo(fifth.memory().address());
    assertThat(layout.staged(1, third)).as("kept when another comes").isSameAs(inThird);
    third.offer(Staging.Memory.allocate(1 << 16));
    third.grow();
    assertThat(layout.staged(1, third).address()).isEqualTo(third.memory().address() + 64);
  }

  private Staging staging(int index) {
    Staging staging = new Staging(index);
    opened.add(staging);
    return staging;
  }

  private static TensorSpec spec(String name, DType dtype, long width) {
    return new TensorSpec(name, dtype, List.of(Axis.BATCH, new Axis.Fixed(width)));
  }

  private static TensorType type(DType dtype, long... dims) {
    return new TensorType(dtype, Shape.of(dims));
  }
}
