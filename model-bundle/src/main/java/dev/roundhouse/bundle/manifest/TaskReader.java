package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec.ClientContract;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.bundle.tensor.DType;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Reads a task, and holds what callers send and get to it. */
final class TaskReader {
  private static final String KEY = "task";

  /** Numbers of one row, at most. */
  private static final int MOST_NUMBERS = 1 << 20;

  private final Fields fields;
  private final TextTask.Kind kind;
  private final ClientContract contract;

  private TaskReader(Fields fields, TextTask.Kind kind, ClientContract contract) {
    this.fields = fields;
    this.kind = kind;
    this.contract = contract;
  }

  static Optional<TextTask> read(
      Fields fields, Optional<ClientContract> client, boolean decoupled, ServingDefaults serving) {
    Optional<String> named = fields.text(KEY);
    if (named.isEmpty()) {
      return Optional.empty();
    }
    for (TextTask.Kind kind : TextTask.Kind.values()) {
      if (kind.text().equals(named.get())) {
        if (decoupled) {
          fields.problem(
              KEY,
              "is "
                  + kind.text()
                  + ", whose rows are answered once, and decoupled says that they are answered in parts; leave one of them out");
          return Optional.empty();
        }
        return of(fields, kind, client, serving);
      }
    }
    fields.problem(KEY, "is '" + named.get() + "'; it is embed, rerank or classify");
    return Optional.empty();
  }

  private static Optional<TextTask> of(
      Fields fields, TextTask.Kind kind, Optional<ClientContract> client, ServingDefaults serving) {
    if (client.isEmpty()) {
      fields.problem(
          KEY,
          "is "
              + kind.text()
              + ", and callers send texts only where client_inputs and client_outputs say so");
      return Optional.empty();
    }
    if (serving.sequence().isPresent()) {
      fields.problem(KEY, "is " + kind.text() + ", which a model with serving.sequence has not");
      return Optional.empty();
    }
    return new TaskReader(fields, kind, client.get()).read();
  }

  private Optional<TextTask> read() {
    boolean known = hasInputs();
    List<TensorSpec> results = all(contract.outputs(), this::isResult);
    if (results.size() != 1) {
      problem(
          "needs one client output %s, and there are %d"
              .formatted(
                  switch (kind) {
                    case EMBED -> "f32 [n, d] with a fixed d";
                    case RERANK -> "f32 of shape [n] or [n, 1]";
                    case CLASSIFY -> "f32 [n, d] with a fixed d and labels";
                  },
                  results.size()));
      return Optional.empty();
    }
    Optional<TensorSpec> tokens = named(contract.outputs(), TextTask.TOKENS);
    if (tokens.isPresent() && !isCount(tokens.get())) {
      problem("takes the client output 'tokens' for a count: i32 or i64 of shape [n] or [n, 1]");
      return Optional.empty();
    }
    return known
        ? Optional.of(new TextTask(kind, inputs(), results.getFirst(), tokens.isPresent()))
        : Optional.empty();
  }

  private boolean hasInputs() {
    List<TensorSpec> inputs = contract.inputs();
    boolean texts = inputs.stream().allMatch(TaskReader::isText);
    if (kind != TextTask.Kind.RERANK) {
      if (inputs.size() != 1 || !texts) {
        problem("needs one client input, of bytes and of shape [n] or [n, 1]");
        return false;
      }
      return true;
    }
    Set<String> names = inputs.stream().map(TensorSpec::name).collect(Collectors.toSet());
    if (!names.equals(Set.of(TextTask.QUERY, TextTask.DOCUMENT)) || !texts) {
      problem(
          "needs two client inputs, 'query' and 'document', of bytes and of shape [n] or [n, 1]");
      return false;
    }
    return true;
  }

  private List<TensorSpec> inputs() {
    return kind != TextTask.Kind.RERANK
        ? contract.inputs()
        : List.of(
            named(contract.inputs(), TextTask.QUERY).orElseThrow(),
            named(contract.inputs(), TextTask.DOCUMENT).orElseThrow());
  }

  private boolean isResult(TensorSpec output) {
    if (output.dtype() != DType.F32
        || (kind == TextTask.Kind.CLASSIFY && output.labels().isEmpty())) {
      return false;
    }
    return kind.isWide()
        ? output.rank() == 2
            && output.batchAxis() == 0
            && output.axes().get(1) instanceof Axis.Fixed(long extent)
            && extent >= 1
            && extent <= MOST_NUMBERS
        : isColumn(output);
  }

  private static boolean isText(TensorSpec input) {
    return input.dtype() == DType.BYTES && isColumn(input);
  }

  private static boolean isCount(TensorSpec output) {
    return (output.dtype() == DType.I32 || output.dtype() == DType.I64) && isColumn(output);
  }

  /** One element for each row. */
  private static boolean isColumn(TensorSpec tensor) {
    return tensor.batchAxis() == 0
        && (tensor.rank() == 1
            || (tensor.rank() == 2 && tensor.axes().get(1).equals(new Axis.Fixed(1))));
  }

  private static Optional<TensorSpec> named(List<TensorSpec> tensors, String name) {
    return tensors.stream().filter(tensor -> tensor.name().equals(name)).findFirst();
  }

  private static List<TensorSpec> all(List<TensorSpec> tensors, Predicate<TensorSpec> which) {
    return tensors.stream().filter(which).toList();
  }

  private void problem(String text) {
    fields.problem(KEY, "is " + kind.text() + ", which " + text);
  }
}
