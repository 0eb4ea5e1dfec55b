package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ServingRules;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.worker.transport.Generations;
import dev.roundhouse.worker.transport.ModelLookup;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Finds what a hello asks for among the models that are served. Thread-safe. */
final class StreamTargets {
  /** Rows of one message; a hello's number is a u32. */
  private static final int MOST_ROWS = 1 << 20;

  private final Engine engine;
  private final ModelLookup models;
  private final Generations generations = new Generations();

  StreamTargets(Engine engine) {
    this.engine = engine;
    models = new ModelLookup(engine);
  }

  /**
   * @throws HelloRefusedException when there is nothing of the kind
   */
  StreamTarget find(ClientHello hello) throws HelloRefusedException {
    ModelStatus model = ready(hello);
    ModelSpec made = model.spec().orElseThrow();
    ServingRules rules = rules(model);
    requireFixed(made);
    requireRows(made, rules, hello.rows());
    StreamSpec spec = chosen(hello, made, specs(made, hello));
    if (spec.requestBytes() == 0) {
      throw notFixed(
          made, "takes no bytes, so that messages cannot be told apart; ask it over gRPC");
    }
    // not as it was written: 01 is version 1 too, and names must not pile up
    String version = hello.version().isEmpty() ? "" : model.version();
    long generation = generations.of(hello.model(), version, made);
    return new StreamTarget(hello, made, generation, spec, mostTogether(made, rules, hello));
  }

  /**
   * The same of what serves now.
   *
   * @throws HelloRefusedException when it has other tensors
   */
  StreamTarget again(StreamTarget before) throws HelloRefusedException {
    return find(before.asked().expecting(before.spec()));
  }

  /** True while what serves is what the target was made of, or nothing serves. */
  boolean isCurrent(StreamTarget target) {
    ModelStatus now = engine.model(target.model(), target.version()).orElse(null);
    return now == null || !now.isReady() || now.spec().orElse(null) == target.made();
  }

  private ModelStatus ready(ClientHello hello) throws HelloRefusedException {
    if (!engine.isServing()) {
      throw new HelloRefusedException(HelloStatus.NOT_READY, "the server takes no requests");
    }
    if (hello.model().isEmpty()) {
      throw new HelloRefusedException(HelloStatus.BAD_HELLO, "the hello names no model");
    }
    try {
      return models.ready(hello.model(), hello.version());
    } catch (WireException e) {
      HelloStatus status =
          switch (e.status()) {
            case NOT_FOUND -> HelloStatus.NO_SUCH_MODEL;
            case INVALID_ARGUMENT -> HelloStatus.BAD_HELLO;
            default -> HelloStatus.NOT_READY;
          };
      throw new HelloRefusedException(status, String.valueOf(e.getMessage()));
    }
  }

  private ServingRules rules(ModelStatus model) throws HelloRefusedException {
    return engine
        .rules(model.name(), model.version())
        .orElseThrow(
            () ->
                new HelloRefusedException(
                    HelloStatus.NOT_READY,
                    "model '%s' version %s is being unloaded"
                        .formatted(model.name(), model.version())));
  }

  private static void requireFixed(ModelSpec made) throws HelloRefusedException {
    if (made.decoupled()) {
      throw notFixed(made, "answers in any number of parts; ask it over ModelStreamInfer");
    }
    if (made.serving().sequence().isPresent()) {
      throw notFixed(made, "keeps state between the requests of a sequence; ask it over gRPC");
    }
  }

  private static HelloRefusedException notFixed(ModelSpec made, String why) {
    return new HelloRefusedException(
        HelloStatus.NOT_FIXED, "model '%s' %s".formatted(made.name(), why));
  }

  private static void requireRows(ModelSpec made, ServingRules rules, int rows)
      throws HelloRefusedException {
    String name = made.name();
    if (rows < 1 || rows > MOST_ROWS) {
      throw badRows("%s rows a message; from 1 to %d are allowed", unsigned(rows), MOST_ROWS);
    }
    if (!made.isClientBatched() && rows != 1) {
      throw badRows("%s rows a message, and model '%s' has none; say 1", unsigned(rows), name);
    }
    boolean isExact = made.isClientBatched() && made.client().isEmpty() && !made.isCoalescable();
    if (isExact && !rules.batchSizes().contains(rows)) {
      throw badRows(
          "%s rows a message, and model '%s' takes %s", unsigned(rows), name, rules.batchSizes());
    }
  }

  private static String unsigned(int rows) {
    return Integer.toUnsignedString(rows);
  }

  private static HelloRefusedException badRows(String format, Object... values) {
    return new HelloRefusedException(
        HelloStatus.BAD_HELLO, "the hello says " + format.formatted(values));
  }

  /** Messages that may be one request: as many rows as a program takes. */
  private static int mostTogether(ModelSpec made, ServingRules rules, ClientHello hello) {
    boolean joins =
        made.isCoalescable()
            && made.client().isEmpty()
            && Stream.concat(made.clientInputs().stream(), made.clientOutputs().stream())
                .allMatch(tensor -> tensor.batchAxis() == 0);
    return joins ? Math.max(1, rules.rowCap() / hello.rows()) : 1;
  }

  // --- variants

  private static List<StreamSpec> specs(ModelSpec made, ClientHello hello)
      throws HelloRefusedException {
    boolean isFree =
        made.client().isPresent()
            && Stream.concat(made.clientInputs().stream(), made.clientOutputs().stream())
                .flatMap(tensor -> tensor.axes().stream())
                .anyMatch(Axis.Variable.class::isInstance);
    if (isFree) {
      throw notFixed(made, "takes tensors of any size; ask it over gRPC");
    }
    List<Variant> variants = made.client().isPresent() ? List.of(Variant.SINGLE) : made.variants();
    List<Variant> asked =
        hello.variant().isEmpty()
            ? variants
            : variants.stream().filter(each -> text(each).equals(hello.variant())).toList();
    if (asked.isEmpty()) {
      throw new HelloRefusedException(
          HelloStatus.NO_SUCH_MODEL,
          "model '%s' has no variant '%s'; it has %s"
              .formatted(made.name(), hello.variant(), texts(variants)));
    }
    try {
      return asked.stream().map(variant -> spec(made, hello.rows(), variant)).toList();
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw notFixed(made, "cannot be streamed to: " + e.getMessage());
    }
  }

  private static String text(Variant variant) {
    return variant.sizes().entrySet().stream()
        .map(size -> size.getKey() + "=" + size.getValue())
        .collect(Collectors.joining(","));
  }

  private static String texts(List<Variant> variants) {
    return variants.stream().map(each -> "'" + text(each) + "'").collect(Collectors.joining(", "));
  }

  private static StreamSpec spec(ModelSpec made, int rows, Variant variant) {
    return new StreamSpec(
        tensors(made.clientInputs(), rows, variant), tensors(made.clientOutputs(), rows, variant));
  }

  private static List<StreamTensor> tensors(List<TensorSpec> of, int rows, Variant variant) {
    return of.stream()
        .map(
            tensor -> {
              Shape shape = tensor.resolve(rows, variant).shape();
              return new StreamTensor(tensor.name(), tensor.dtype(), shape);
            })
        .toList();
  }

  private static StreamSpec chosen(ClientHello hello, ModelSpec made, List<StreamSpec> specs)
      throws HelloRefusedException {
    StreamSpec theirs = hello.spec();
    for (StreamSpec each : specs) {
      if (theirs != null ? each.equals(theirs) : each.digest() == hello.digest()) {
        return each;
      }
    }
    if (theirs != null) {
      StreamSpec first = specs.getFirst();
      throw new HelloRefusedException(
          HelloStatus.OTHER_SPEC, first.differenceTo(theirs, "the client", made.name()), first);
    }
    if (hello.digest() != 0) {
      throw new HelloRefusedException(
          HelloStatus.OTHER_SPEC,
          "the client was built for a spec of digest %016x, and model '%s' has %s"
              .formatted(
                  hello.digest(),
                  made.name(),
                  specs.stream()
                      .map(each -> "%016x".formatted(each.digest()))
                      .collect(Collectors.joining(", "))),
          specs.getFirst());
    }
    if (specs.size() > 1) {
      throw new HelloRefusedException(
          HelloStatus.NOT_FIXED,
          "model '%s' has several variants; name one of %s"
              .formatted(made.name(), texts(made.variants())));
    }
    return specs.getFirst();
  }
}
