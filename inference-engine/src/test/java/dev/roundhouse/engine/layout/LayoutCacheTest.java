package dev.roundhouse.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.observe.BatchTally;
import dev.roundhouse.engine.schedule.CostEstimate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LayoutCacheTest {
  private final LayoutCache cache = new LayoutCache();

  @Test
  void shouldShareALayoutAmongProgramsThatAreAlikeUntilTheLastIsGone() {
    ProgramLayout first = take("x", 4, 2);
    ProgramLayout second = take("x", 4, 2);
    assertThat(second).isSameAs(first);
    assertThat(cache.size()).isEqualTo(1);
    cache.giveBack(first);
    assertThat(cache.size()).as("one uses it").isEqualTo(1);
    assertThat(take("x", 4, 2)).isSameAs(first);
    cache.giveBack(first);
    cache.giveBack(first);
    assertThat(cache.size()).isZero();
    assertThat(take("x", 4, 2)).isNotSameAs(first);
  }

  @Test
  void shouldNotShareALayoutAmongProgramsThatDiffer() {
    ProgramLayout one = take("x", 4, 2);
    assertThat(take("x", 8, 2)).as("another batch size").isNotSameAs(one);
    assertThat(take("x", 4, 3)).as("another width").isNotSameAs(one);
    assertThat(take("ids", 4, 2)).as("another name").isNotSameAs(one);
    assertThat(cache.size()).isEqualTo(4);
  }

  @Test
  void shouldLeaveWeightsOut() {
    ProgramLayout layout = take("x", 4, 2);
    assertThat(layout.inputCount()).isEqualTo(1);
    assertThat(layout.stagingBytes()).isEqualTo(64);
  }

  private ProgramLayout take(String input, int rows, int width) {
    List<Axis> axes = List.of(Axis.BATCH, new Axis.Fixed(width));
    ModelSpec spec =
        new ModelSpec(
            "m",
            "3",
            ModelSpec.Kind.MODEL,
            "",
            List.of(new TensorSpec(input, DType.F32, axes)),
            List.of(new TensorSpec("y", DType.F32, axes)),
            Optional.empty(),
            List.of(rows),
            List.of(Variant.SINGLE),
            List.of(),
            ServingDefaults.DEFAULT,
            Map.of());
    TensorType rowsType = new TensorType(DType.F32, Shape.of(rows, width));
    TensorType weight = new TensorType(DType.F32, Shape.of(1000));
    return cache.take(
        spec,
        new CompiledProgram(
            0,
            rows,
            "",
            new Program(List.of(rowsType, weight), List.of(rowsType)),
            new CostEstimate(0.5),
            new BatchTally()));
  }

  private record Program(List<TensorType> parameters, List<TensorType> results)
      implements DeviceProgram {
    @Override
    public String name() {
      return "program";
    }

    @Override
    public ProgramMemory memory() {
      return new ProgramMemory(0, 0, 0, 0);
    }

    @Override
    public void close() {}
  }
}
