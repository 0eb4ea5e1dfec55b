package dev.roundhouse.engine.layout;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.Lengths;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** From which axes of a request's inputs an output that is cut back has its sizes. Immutable. */
public final class TrimmedAxes {
  private final List<Source> sources;

  /** An axis of the output, and the axis of an input that has the same letter. */
  private record Source(int axis, int input, int inputAxis) {}

  private TrimmedAxes(List<Source> sources) {
    this.sources = List.copyOf(sources);
  }

  /** Null for an output that is as the program makes it. */
  static @Nullable TrimmedAxes of(TensorSpec output, List<TensorSpec> inputs) {
    if (!(output.lengths() instanceof Lengths.Trimmed)) {
      return null;
    }
    List<Source> sources = new ArrayList<>();
    for (int axis = 0; axis < output.rank(); axis++) {
      if (output.axes().get(axis) instanceof Axis.Variable letter) {
        for (int input = 0; input < inputs.size(); input++) {
          int found = inputs.get(input).axes().indexOf(letter);
          if (found >= 0) {
            sources.add(new Source(axis, input, found));
            break;
          }
        }
      }
    }
    return new TrimmedAxes(sources);
  }

  /**
   * The output's shape in an answer.
   *
   * @param whole as the program makes it for as many rows
   * @param inputs the shape of the request's input at a position
   */
  public Shape shape(Shape whole, IntFunction<Shape> inputs) {
    Shape shape = whole;
    for (Source source : sources) {
      shape = shape.withDim(source.axis, inputs.apply(source.input).dim(source.inputAxis));
    }
    return shape;
  }
}
