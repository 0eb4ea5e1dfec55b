package dev.roundhouse.worker.transport.text;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.ServingRules;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.OutputHeader;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.kserve.codec.TensorHeader;
import dev.roundhouse.kserve.codec.TensorSource;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import io.opentelemetry.api.trace.SpanContext;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request's texts on their way through a model: as many rows to an inference request as the
 * model runs at once, and a few of those at a time, so that the device always has the next. Run by
 * one thread, which waits; {@link #cancel} is for others.
 */
final class TextRun {
  /** Inference requests under way at once, while there is room for them. */
  private static final int AHEAD = 4;

  /** Rows of an inference request whatever the model takes. */
  private static final int MOST_ROWS = 1024;

  private final Inference inference;
  private final ModelLookup models;
  private final MemoryHold memory;
  private final int caller;
  private final @Nullable CallerRights rights;
  private final long spentNanos;
  private final @Nullable SpanContext calledIn;
  private final long beganNanos = System.nanoTime();
  private final Deque<RowRun> under = new ArrayDeque<>(); // guarded by itself
  private final Deque<Integer> again = new ArrayDeque<>(0);
  private int ahead = AHEAD;
  private boolean cancelled; // guarded by under

  /**
   * @param memory for what is made of texts
   * @param rights of the caller; null when nothing is checked
   * @param spentNanos of the request's time, before it came here
   * @param calledIn the caller's span; null when no request has spans
   */
  TextRun(
      Inference inference,
      ModelLookup models,
      MemoryHold memory,
      int caller,
      @Nullable CallerRights rights,
      long spentNanos,
      @Nullable SpanContext calledIn) {
    this.inference = inference;
    this.models = models;
    this.memory = memory;
    this.caller = caller;
    this.rights = rights;
    this.spentNanos = spentNanos;
    this.calledIn = calledIn;
  }

  /**
   * Runs all rows.
   *
   * @throws WireException when the model is not there or has another task, and what the first
   *     inference request that failed has ended with
   */
  TextResults run(TextRequest request) {
    ModelStatus model = models.ready(request.model(), "");
    ModelSpec spec = model.spec().orElseThrow();
    TextTask task = task(spec, request);
    request.require(task);
    int rows = request.rows();
    int atOnce = atOnce(model, spec);
    String version = rows > atOnce || hasLabels(task) ? model.version() : ""; // all by the same
    memory.take((long) rows * task.width() * Float.BYTES);
    float[] numbers = new float[Math.multiplyExact(rows, task.width())];
    long tokens = 0;
    try {
      int next = 0;
      while (next < rows || !again.isEmpty() || size() > 0) {
        if (size() >= ahead || (next >= rows && again.isEmpty())) {
          tokens += takeFirst(task, numbers);
          continue;
        }
        Integer crowdedOut = again.poll();
        int first = crowdedOut == null ? next : crowdedOut;
        next += crowdedOut == null ? Math.min(atOnce, rows - next) : 0;
        begin(request, task, version, first, Math.min(atOnce, rows - first));
      }
    } catch (Throwable e) {
      giveUp();
      throw e;
    }
    return new TextResults(numbers, task.width(), tokens);
  }

  private static TextTask task(ModelSpec spec, TextRequest request) {
    TextTask task = spec.task().orElse(null);
    if (task == null || task.kind() != request.kind()) {
      throw WireException.invalidArgument(
          "model '%s' has %s, and this route is for task %s of the manifest; ask /v2/models/%s/infer"
              .formatted(
                  spec.name(),
                  task == null ? "no task" : "task " + task.kind().text(),
                  request.kind().text(),
                  spec.name()));
    }
    return task;
  }

  /** Which are those of the version that was looked at. */
  private static boolean hasLabels(TextTask task) {
    return task.kind() == TextTask.Kind.CLASSIFY;
  }

  private int atOnce(ModelStatus model, ModelSpec spec) {
    int most =
        inference.engine().rules(spec.name(), model.version()).map(ServingRules::rowCap).orElse(1);
    return Math.clamp(most, 1, MOST_ROWS);
  }

  private void begin(TextRequest request, TextTask task, String version, int first, int rows) {
    requireCaller();
    List<TensorHeader> inputs = new ArrayList<>(task.inputs().size());
    for (int input = 0; input < task.inputs().size(); input++) {
      inputs.add(tensor(request, task.inputs().get(input), input, first, rows));
    }
    List<OutputHeader> outputs = new ArrayList<>(2);
    outputs.add(new OutputHeader(task.result().name(), Map.of()));
    if (task.countsTokens()) {
      outputs.add(new OutputHeader(TextTask.TOKENS, Map.of()));
    }
    InferExchange exchange =
        inference.begin(
            new ReadMessage(
                request.model(),
                version,
                "",
                request.parameters(),
                inputs,
                outputs,
                MessageMemory.COLLECTED));
    exchange.spent(spentNanos + System.nanoTime() - beganNanos);
    exchange.calledIn(calledIn);
    memory.giveBack(exchange.inlineBytes()); // admission counts them from here on
    RowRun run = new RowRun(exchange, first, rows, size() == 0);
    try {
      run.submitted(
          inference
              .engine()
              .submit(inference.request(exchange, RequestOptions.NO_TIMEOUT, caller, rights, run)));
    } catch (Throwable e) {
      exchange.close();
      throw e;
    }
    synchronized (under) {
      under.add(run);
      if (cancelled) {
        run.cancel();
      }
    }
  }

  /** Those under way may all be answered before a cancel reaches them. */
  private void requireCaller() {
    synchronized (under) {
      if (cancelled) {
        throw new WireException(WireStatus.CANCELLED, "the client has gone");
      }
    }
  }

  private TensorHeader tensor(
      TextRequest request, TensorSpec input, int place, int first, int rows) {
    long bytes = 0;
    for (int row = first; row < first + rows; row++) {
      bytes += Integer.BYTES + (long) request.text(place, row).length;
    }
    if (bytes > Integer.MAX_VALUE - 8) {
      throw WireException.invalidArgument(
          "%d texts from %d on have %d bytes, the limit is %d; send fewer at once"
              .formatted(rows, first, bytes, Integer.MAX_VALUE - 8));
    }
    memory.take(bytes);
    ByteBuffer raw = ByteBuffer.allocate((int) bytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int row = first; row < first + rows; row++) {
      byte[] text = request.text(place, row);
      raw.putInt(text.length).put(text);
    }
    return new TensorHeader(
        input.name(),
        input.dtype().wireName(),
        input.rank() == 1 ? new long[] {rows} : new long[] {rows, 1},
        Map.of(),
        new TensorSource.Raw(raw.flip().asReadOnlyBuffer()));
  }

  private int size() {
    synchronized (under) {
      return under.size();
    }
  }

  /**
   * Waits for the oldest. One for which there was no room beside the others is made again, with
   * fewer beside it: where few may wait, a request of many texts still gets through. One that finds
   * no room by itself ends the request, as any other request would end.
   */
  private long takeFirst(TextTask task, float[] numbers) {
    RowRun run;
    synchronized (under) {
      run = under.getFirst();
    }
    long tokens = 0;
    if (run.isCrowdedOut(size() > 1)) {
      again.add(run.first());
      ahead = Math.max(1, size() - 1);
    } else {
      tokens = run.take(task, numbers);
    }
    synchronized (under) {
      under.removeFirst();
    }
    run.close();
    return tokens;
  }

  /** What is still under way is of no use. */
  private void giveUp() {
    cancel();
    List<RowRun> left;
    synchronized (under) {
      left = List.copyOf(under);
      under.clear();
    }
    left.forEach(RowRun::close);
  }

  /** The client has gone. Any thread. */
  void cancel() {
    List<RowRun> running;
    synchronized (under) {
      cancelled = true;
      running = List.copyOf(under);
    }
    running.forEach(RowRun::cancel);
  }
}
