package dev.roundhouse.benchmarks.serving;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * A model of a Triton server with one instance on the CPU.
 *
 * @param tensors the {@code input} and {@code output} of its configuration
 * @param backend the name of a C backend of ours, or {@code python}
 */
public record TritonModel(
    String name, String tensors, int maxBatchSize, String backend, Batching batching) {
  private static final String PYTHON = "python";

  /** Copies the tensor, as a Python model does; the backend looks for numpy nowhere by itself. */
  private static final String COPY =
      """
      import sys

      sys.path.insert(0, "%s")
      import triton_python_backend_utils as utils


      class TritonPythonModel:
          def execute(self, requests):
              return [self.answer(utils.get_input_tensor_by_name(request, "x")) for request in requests]

          def answer(self, x):
              return utils.InferenceResponse([utils.Tensor("y", x.as_numpy())])
      """;

  /** Whether Triton may join requests, best to a quarter of the most rows or to all of them. */
  public enum Batching {
    OFF,
    DYNAMIC
  }

  /** One that answers as {@code model} does, but for the sign: its backend copies. */
  public static TritonModel identity(RowModel model, String backend, Batching batching) {
    String tensor = "[{ name: \"%s\" data_type: TYPE_FP32 dims: [%d] }]";
    return new TritonModel(
        "%s-%s-%s".formatted(model.name(), backend, batching.name().toLowerCase(Locale.ROOT)),
        "input "
            + tensor.formatted("x", model.elements())
            + "\noutput "
            + tensor.formatted("y", model.elements()),
        64,
        backend,
        batching);
  }

  boolean isPython() {
    return backend.equals(PYTHON);
  }

  /** True when it stands in for {@code model}. */
  public boolean serves(RowModel model) {
    return name.startsWith(model.name() + "-");
  }

  /** What a report says of it. */
  public String setup() {
    return (isPython() ? "Python backend" : "C backend")
        + (batching == Batching.DYNAMIC ? ", dynamic batching" : "");
  }

  /**
   * Writes its folder into {@code repository}.
   *
   * @param pythonPackages where Python models find numpy
   */
  void write(Path repository, Path pythonPackages) throws IOException {
    Path folder = repository.resolve(name);
    Path version = Files.createDirectories(folder.resolve("1"));
    Files.writeString(folder.resolve("config.pbtxt"), configuration());
    if (isPython()) {
      Files.writeString(version.resolve("model.py"), COPY.formatted(pythonPackages));
    }
  }

  String configuration() {
    return """
    name: "%s"
    backend: "%s"
    max_batch_size: %d
    %s
    instance_group [{ count: 1 kind: KIND_CPU }]
    %s"""
        .formatted(name, backend, maxBatchSize, tensors, batchingLine());
  }

  private String batchingLine() {
    return switch (batching) {
      case OFF -> "";
      case DYNAMIC ->
          "dynamic_batching { preferred_batch_size: [%d, %d] }\n"
              .formatted(maxBatchSize / 4, maxBatchSize);
    };
  }
}
