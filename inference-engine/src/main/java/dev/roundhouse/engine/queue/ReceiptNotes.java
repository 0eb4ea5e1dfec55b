package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.Receipt;
import java.util.ArrayList;
import java.util.List;

/**
 * What is noted on the way of a request that asks for a receipt. Written by the dispatch thread
 * before the run, and by whoever ends a call; read by who answers.
 */
public final class ReceiptNotes {
  /** Calls that are told of one by one. */
  private static final int MOST_CALLS = 16;

  private boolean weightsCame;
  private long loadNanos;
  private List<Receipt.Ahead> ahead = List.of();

  // Guarded by this.
  private final List<Receipt.Call> calls = new ArrayList<>(0);
  private int callCount;

  /** Notes who ran before it. Dispatch thread only, before its first run. */
  public void ranAhead(List<Receipt.Ahead> models) {
    ahead = models;
  }

  /** Notes that its weights came while it waited. Dispatch thread only, before its first run. */
  public void weightsCame(long nanos) {
    weightsCame = true;
    loadNanos = nanos;
  }

  /** A call that answers it has ended. Any thread. */
  public synchronized void called(CallReport call) {
    Receipt.Call told = Receipt.Call.of(call);
    weightsCame |= told.weightsCame();
    loadNanos += told.loadNanos();
    callCount++;
    if (calls.size() < MOST_CALLS) {
      calls.add(told);
    }
  }

  /**
   * The receipt.
   *
   * @param paddingPositions of the batch that answered it
   */
  public synchronized Receipt receipt(long paddingPositions) {
    return new Receipt(
        weightsCame, loadNanos, paddingPositions, ahead, List.copyOf(calls), callCount);
  }
}
