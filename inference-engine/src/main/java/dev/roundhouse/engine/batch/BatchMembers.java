package dev.roundhouse.engine.batch;

import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.queue.QueuedRequest;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The members of a batch: whose rows it has, and whether they still count as waiting. A member is a
 * request or, when it has more rows than a program takes, a piece of one. Owned as its slot is.
 *
 * <p>What a slot is and not what it has, so that looking at a row is no step further.
 */
public abstract sealed class BatchMembers permits BatchSlot {
  private final Ledger ledger;

  // A dropped member has no request; its rows run as padding.
  private @Nullable QueuedRequest[] requests = new @Nullable QueuedRequest[16];
  private int[] firstRows = new int[16];
  private int[] rowCounts = new int[16];
  private int size;
  private int live;
  private int rows;

  /** True once they do not count as waiting any more. */
  private boolean left;

  /** True when one of them, dropped or not, wants a receipt. */
  private boolean receipts;

  /**
   * @param ledger counts members that leave their queue
   */
  BatchMembers(Ledger ledger) {
    this.ledger = ledger;
  }

  /** Has those that are added from now on count as waiting. */
  final void waitAnew() {
    left = false;
    receipts = false;
  }

  void add(QueuedRequest request, int firstRow, int rowCount) {
    if (size == requests.length) {
      requests = Arrays.copyOf(requests, size * 2);
      firstRows = Arrays.copyOf(firstRows, size * 2);
      rowCounts = Arrays.copyOf(rowCounts, size * 2);
    }
    requests[size] = request;
    firstRows[size] = firstRow;
    rowCounts[size] = rowCount;
    size++;
    live++;
    rows += rowCount;
    receipts |= request.notes() != null;
  }

  /** As {@link #add}, of all that another has, none of which was dropped. */
  final void addAll(BatchMembers other) {
    for (int member = 0; member < other.size; member++) {
      add(other.requireRequest(member), other.firstRows[member], other.rowCounts[member]);
    }
  }

  /** True when a member, dropped or not, wants a receipt. */
  public final boolean wantsReceipts() {
    return receipts;
  }

  /** Drops a member: its rows run as padding. */
  public void drop(int member) {
    QueuedRequest request = requests[member];
    if (request != null) {
      if (!left && firstRows[member] == 0) {
        ledger.leave(request.counters());
      }
      requests[member] = null;
      live--;
      rows -= rowCounts[member];
    }
  }

  /** Lets go of all. */
  final void forget() {
    Arrays.fill(requests, 0, size, null);
    size = 0;
    live = 0;
    rows = 0;
  }

  /**
   * Counts rows by tenant.
   *
   * @param byTenant filled
   */
  public void countRows(int[] byTenant) {
    Arrays.fill(byTenant, 0);
    for (int member = 0; member < size; member++) {
      QueuedRequest request = requests[member];
      if (request != null) {
        byTenant[request.tenant()] += rowCounts[member];
      }
    }
  }

  /** True when others are exactly the same rows in the same order, none of them dropped. */
  final boolean isSameRows(BatchMembers other) {
    if (size != other.size || live != size) {
      return false;
    }
    for (int member = 0; member < size; member++) {
      if (requests[member] != other.requests[member]
          || firstRows[member] != other.firstRows[member]
          || rowCounts[member] != other.rowCounts[member]) {
        return false;
      }
    }
    return true;
  }

  /** The members do not wait any more: their run starts, or fails to. */
  public void leaveQueue() {
    if (left) {
      return;
    }
    left = true;
    for (int member = 0; member < size; member++) {
      QueuedRequest request = requests[member];
      if (request != null && firstRows[member] == 0) {
        ledger.leave(request.counters());
      }
    }
  }

  /** The members wait again: their run came to nothing, and they are to be put back. */
  public void rejoinQueue() {
    if (!left) {
      return;
    }
    left = false;
    for (int member = 0; member < size; member++) {
      QueuedRequest request = requests[member];
      if (request != null && firstRows[member] == 0) {
        ledger.rejoin(request.counters());
      }
    }
  }

  /** True when a member wants an output, or keeps it as state. */
  public boolean isAskedFor(int output) {
    for (int member = 0; member < size; member++) {
      QueuedRequest request = requests[member];
      if (request != null && request.asksFor(output)) {
        return true;
      }
    }
    return false;
  }

  /** Members of this batch, those that were dropped included. */
  public int size() {
    return size;
  }

  /** Members that somebody waits for. */
  public int live() {
    return live;
  }

  /** The request of a member; null when it was dropped. */
  public @Nullable QueuedRequest request(int member) {
    return requests[member];
  }

  /** The request of a member that was not dropped. */
  public QueuedRequest requireRequest(int member) {
    return Objects.requireNonNull(requests[member]);
  }

  /** The first of the member's rows, counted from the first of its request. */
  public int firstRow(int member) {
    return firstRows[member];
  }

  public int rowCount(int member) {
    return rowCounts[member];
  }

  /** True when a member holds a part of its request only. */
  public boolean hasPieces() {
    for (int member = 0; member < size; member++) {
      QueuedRequest request = requests[member];
      if (request != null && rowCounts[member] != request.rows()) {
        return true;
      }
    }
    return false;
  }

  /** Rows of all members that somebody waits for, without padding. */
  public int rows() {
    return rows;
  }

  /** When the first of the members was accepted. */
  public long oldestArrivalNanos() {
    long oldest = Long.MAX_VALUE;
    for (int member = 0; member < size; member++) {
      QueuedRequest request = requests[member];
      if (request != null) {
        oldest = Math.min(oldest, request.arrivalNanos());
      }
    }
    return oldest;
  }
}
