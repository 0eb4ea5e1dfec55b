package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Receipt;
import dev.roundhouse.kserve.codec.ParameterValue;
import java.util.Map;

/** A receipt as parameters of an answer; {@code docs/receipt.md} has each of them. */
final class ReceiptParameters {
  private static final String PREFIX = "roundhouse_receipt_";

  private ReceiptParameters() {}

  /** Adds them, when there is a receipt. */
  static void put(
      Map<String, ParameterValue> all, Outcome.Completed outcome, ReceiptOrigin origin) {
    Receipt receipt = outcome.receipt();
    if (receipt == null) {
      return;
    }
    Outcome.Timings took = outcome.timings();
    number(all, "total_ns", took.answeredNanos() - took.acceptedNanos());
    number(all, "queue_ns", took.queueNanos());
    number(all, "load_ns", receipt.loadNanos());
    number(all, "input_ns", took.computeInputNanos());
    number(all, "compute_ns", took.computeNanos());
    number(all, "output_ns", took.computeOutputNanos());
    number(all, "batch_rows", took.batchRows());
    number(all, "padding_rows", took.paddingRows());
    number(all, "padding_positions", receipt.paddingPositions());
    all.put(PREFIX + "weights_came", new ParameterValue.Flag(receipt.weightsCame()));
    text(all, "version", outcome.modelVersion());
    text(all, "worker", origin.worker());
    text(all, "device", origin.device());
    number(all, "ahead_count", receipt.ahead().size());
    for (int i = 0; i < receipt.ahead().size(); i++) {
      ahead(all, "ahead_" + (i + 1) + "_", receipt.ahead().get(i));
    }
    number(all, "call_count", receipt.callCount());
    for (int i = 0; i < receipt.calls().size(); i++) {
      call(all, "call_" + (i + 1) + "_", receipt.calls().get(i));
    }
  }

  private static void ahead(Map<String, ParameterValue> all, String at, Receipt.Ahead model) {
    text(all, at + "model", model.model());
    number(all, at + "runs", model.runs());
    number(all, at + "compute_ns", model.nanos());
  }

  private static void call(Map<String, ParameterValue> all, String at, Receipt.Call call) {
    text(all, at + "model", call.model());
    text(all, at + "version", call.version());
    text(all, at + "end", call.end());
    number(all, at + "total_ns", call.totalNanos());
    number(all, at + "queue_ns", call.queueNanos());
    number(all, at + "load_ns", call.loadNanos());
    number(all, at + "compute_ns", call.computeNanos());
    number(all, at + "batch_rows", call.batchRows());
    all.put(PREFIX + at + "weights_came", new ParameterValue.Flag(call.weightsCame()));
  }

  private static void number(Map<String, ParameterValue> all, String name, long value) {
    all.put(PREFIX + name, new ParameterValue.Signed(value));
  }

  private static void text(Map<String, ParameterValue> all, String name, String value) {
    all.put(PREFIX + name, new ParameterValue.Text(value));
  }
}
