package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.InferParameter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How a Roundhouse server came to an answer, as it says when asked ({@link
 * InferRequest.Builder#receipt}).
 *
 * @param total from acceptance to answer
 * @param load how long weights took to the device that had to come; part of the time in the queue
 * @param batchRows rows of the batch that belong to requests
 * @param paddingPositions elements of the first padded input that were added to those rows
 * @param weightsCame whether weights had to be brought while the request waited
 * @param version that answered
 * @param worker the server's host and process, {@code HOST/PID}
 * @param ahead models that ran while it waited, those with most device time first
 * @param calls that the model made to answer, the first 16 of them; empty for most models
 * @param callCount how many calls there were
 */
public record Receipt(
    Duration total,
    Duration queue,
    Duration load,
    Duration input,
    Duration compute,
    Duration output,
    long batchRows,
    long paddingRows,
    long paddingPositions,
    boolean weightsCame,
    String version,
    String worker,
    String device,
    List<Ahead> ahead,
    List<Call> calls,
    long callCount) {
  private static final String PREFIX = "roundhouse_receipt_";

  /** More than a server tells of. */
  private static final int MOST = 64;

  public Receipt {
    ahead = List.copyOf(ahead);
    calls = List.copyOf(calls);
  }

  /**
   * A model that ran while the request waited.
   *
   * @param compute device time of those runs, all together
   */
  public record Ahead(String model, long runs, Duration compute) {}

  /**
   * A call of another model.
   *
   * @param end COMPLETED, or the status it ended with
   */
  public record Call(
      String model,
      String version,
      String end,
      Duration total,
      Duration queue,
      Duration load,
      Duration compute,
      long batchRows,
      boolean weightsCame) {}

  static Optional<Receipt> of(Map<String, InferParameter> parameters) {
    return parameters.containsKey(PREFIX + "total_ns")
        ? Optional.of(new Reader(parameters, PREFIX).receipt())
        : Optional.empty();
  }

  /** Reads parameters whose names begin alike. */
  private record Reader(Map<String, InferParameter> parameters, String prefix) {
    Receipt receipt() {
      return new Receipt(
          nanos("total_ns"),
          nanos("queue_ns"),
          nanos("load_ns"),
          nanos("input_ns"),
          nanos("compute_ns"),
          nanos("output_ns"),
          number("batch_rows"),
          number("padding_rows"),
          number("padding_positions"),
          flag("weights_came"),
          text("version"),
          text("worker"),
          text("device"),
          ahead(),
          calls(),
          number("call_count"));
    }

    private List<Ahead> ahead() {
      List<Ahead> ahead = new ArrayList<>();
      for (Reader at : numbered("ahead_")) {
        ahead.add(new Ahead(at.text("model"), at.number("runs"), at.nanos("compute_ns")));
      }
      return ahead;
    }

    private List<Call> calls() {
      List<Call> calls = new ArrayList<>();
      for (Reader at : numbered("call_")) {
        calls.add(
            new Call(
                at.text("model"),
                at.text("version"),
                at.text("end"),
                at.nanos("total_ns"),
                at.nanos("queue_ns"),
                at.nanos("load_ns"),
                at.nanos("compute_ns"),
                at.number("batch_rows"),
                at.flag("weights_came")));
      }
      return calls;
    }

    private List<Reader> numbered(String name) {
      List<Reader> found = new ArrayList<>();
      for (int i = 1; i <= MOST; i++) {
        Reader next = new Reader(parameters, prefix + name + i + "_");
        if (!parameters.containsKey(next.prefix + "model")) {
          break;
        }
        found.add(next);
      }
      return found;
    }

    private Duration nanos(String name) {
      return Duration.ofNanos(number(name));
    }

    private long number(String name) {
      return Parameters.number(parameters, prefix + name, 0);
    }

    private boolean flag(String name) {
      InferParameter value = parameters.get(prefix + name);
      return value != null && value.getBoolParam();
    }

    private String text(String name) {
      InferParameter value = parameters.get(prefix + name);
      return value == null ? "" : value.getStringParam();
    }
  }
}
