package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.hooks.ModelContext;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What hooks know of a model that was not read from files. */
record BareContext(ModelSpec spec, String version) implements ModelContext {
  @Override
  public String name() {
    return spec.name();
  }

  @Override
  public Path asset(String file) {
    throw new IllegalArgumentException(
        "model '%s' is no bundle and has no file '%s'".formatted(name(), file));
  }

  @Override
  public byte[] bytes(String file) {
    throw new IllegalArgumentException(
        "model '%s' is no bundle and has no file '%s'".formatted(name(), file));
  }

  @Override
  public List<String> labels(String output) {
    return labels(spec, output);
  }

  @Override
  public System.Logger logger() {
    return new HookLogger(name());
  }

  /** Those of an output of the programs or, first, of what callers get. */
  static List<String> labels(ModelSpec spec, String output) {
    return Stream.concat(spec.clientOutputs().stream(), spec.outputs().stream())
        .filter(tensor -> tensor.name().equals(output) && tensor.classes().count() > 0)
        .map(TensorSpec::classes)
        .findFirst()
        .map(classes -> IntStream.range(0, classes.count()).mapToObj(classes::text).toList())
        .orElse(List.of());
  }
}
