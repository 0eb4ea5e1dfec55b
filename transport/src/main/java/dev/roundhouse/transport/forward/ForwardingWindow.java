package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.ForwardingBudget.Use;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Flow control of one direction of a forwarded call. The sender may send the beginning of a message
 * unasked; of a longer one, what is left of it, once memory was taken for that. What is refused for
 * lack of room is granted when there is room. For one event loop.
 */
final class ForwardingWindow {
  private static final Logger log = LoggerFactory.getLogger(ForwardingWindow.class);

  /** What a sender may send before memory was taken for it. */
  private static final int FIRST_BYTES = 1 << 18;

  /** The most held of a message whose receiver has not shown that it takes more. */
  private static final int EARLY_BYTES = 1 << 20;

  /** Smallest increment of the window. */
  private static final int LEAST_BYTES = 1 << 12;

  /** One call's share of the limit of all calls. */
  private static final int SHARE = 16;

  /**
   * Parts up to this size are copied: a slice would hold the whole 64 KiB read buffer until the
   * other side takes it.
   */
  private static final int MOST_COPIED_BYTES = 15 << 10;

  /** A part besides its bytes: its object, its buffer, its slots in two queues. */
  private static final int PART_BYTES = 256;

  private final ForwardingBudget memory;
  private final ConnectionMemory client;
  private final MessageBounds bounds;
  private final int mostBytes;
  private final boolean once;
  private final Window window;
  private final EventLoop loop;
  private final Runnable wake = this::wake;

  /** Bytes taken from the budget that have not arrived; less than the window. */
  private int prepaid;

  /** Bytes that have arrived and not been sent on. */
  private int queued;

  private long passed;
  private int messages;
  private boolean waiting;
  private boolean registered;
  private boolean closed;

  /** The window of the incoming stream. */
  interface Window {
    /** Bytes that its peer may send now. */
    int bytes();

    /** Lets its peer send more. */
    void open(int bytes);
  }

  /**
   * @param client the caller
   * @param mostBytes of the direction that are held at a time, or may come
   * @param once whether there is only one message
   */
  ForwardingWindow(
      ForwardingBudget memory,
      ConnectionMemory client,
      MessageBounds bounds,
      int mostBytes,
      boolean once,
      Window window,
      EventLoop loop) {
    this.memory = memory;
    this.client = client;
    this.bounds = bounds;
    this.mostBytes = mostBytes;
    this.once = once;
    this.window = window;
    this.loop = loop;
  }

  /** A stream's initial window. */
  static int firstBytes(int mostBytes) {
    return Math.min(FIRST_BYTES, mostBytes);
  }

  /**
   * Takes what has arrived.
   *
   * @param data borrowed
   * @param begins whether the call has not been forwarded yet
   * @return a part with one user
   * @throws StatusException when a message is not allowed, or there is no memory; close it then
   */
  ForwardedChunk arrived(ByteBuf data, boolean begins) throws StatusException {
    messages += bounds.look(data);
    int bytes = data.readableBytes();
    int unpaid = bytes - Math.min(prepaid, bytes);
    take(unpaid + PART_BYTES, begins ? Use.BEGIN : Use.ARRIVED);
    client.charge(Kept.MESSAGE, bytes + PART_BYTES);
    prepaid -= bytes - unpaid;
    queued += bytes;
    ForwardedChunk part;
    try {
      part = new ForwardedChunk(this, own(data));
    } catch (OutOfMemoryError e) {
      free(bytes);
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("there is no memory to hold %d bytes".formatted(bytes))
          .asException();
    }
    widen();
    return part;
  }

  private void take(int bytes, Use use) throws StatusException {
    String refusal = null;
    if (!memory.take(bytes, use)) {
      refusal = memory.refusal(bytes, use);
    } else if (use == Use.BEGIN) {
      refusal = client.overShare(bytes);
      memory.giveBack(refusal == null ? 0 : bytes);
    }
    if (refusal != null) {
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
  }

  private ByteBuf own(ByteBuf data) {
    boolean slice = data.readableBytes() > MOST_COPIED_BYTES && memory.hasRoom(Use.SLICE);
    return slice ? data.retainedSlice() : data.copy();
  }

  /** How many messages have arrived. */
  int messages() {
    return messages;
  }

  /** True when we keep the sender from sending what it has. */
  boolean holdsUp() {
    return waiting || queued > 0;
  }

  /** Bytes have been sent on. */
  void passed(int bytes) {
    queued -= bytes;
    passed += bytes;
    widen();
  }

  /** Received bytes are no longer used. */
  void free(int bytes) {
    client.discharge(Kept.MESSAGE, bytes + PART_BYTES);
    memory.giveBack(bytes + PART_BYTES);
  }

  /** Nothing more will come. */
  void close() {
    if (!closed) {
      closed = true;
      waiting = false;
      if (registered) {
        memory.forget(wake);
      }
      memory.giveBack(prepaid);
      prepaid = 0;
    }
  }

  private void widen() {
    waiting = false;
    if (closed || (once && messages > 0)) {
      return;
    }
    int may = window.bytes();
    long left = bounds.left();
    if (left <= may) {
      allowNext(may);
    } else {
      allowRest(may, left);
    }
  }

  /** The message ends within the window; the rest is for the next one. */
  private void allowNext(int may) {
    int first = firstBytes(mostBytes);
    int more = first - queued - may;
    if (more < first / 2) {
      return; // it is not worth a frame
    }
    if (memory.hasRoom(Use.GO_ON)) {
      window.open(more);
    } else {
      await();
    }
  }

  private void allowRest(int may, long left) {
    int most = most();
    int more = (int) Math.min(left, most - queued) - may;
    if (more < Math.min(left - may, most / 4)) {
      return;
    }
    if (client.hasShare(more) && open(more, Use.AHEAD)) {
      return;
    }
    int step = Math.min(ForwardingBudget.STEP_BYTES, mostBytes);
    if (may < step && queued < step && !open(Math.min(more, step), Use.GO_ON)) {
      await();
    }
  }

  /** The most held of this direction. */
  private int most() {
    long shown = Math.max(EARLY_BYTES, 2 * passed);
    return (int)
        Math.min(
            Math.min(mostBytes, shown), Math.max(firstBytes(mostBytes), memory.limit() / SHARE));
  }

  private boolean open(int wanted, Use use) {
    int bytes = Math.max(wanted, LEAST_BYTES);
    if (!memory.take(bytes, use)) {
      return false;
    }
    prepaid += bytes;
    window.open(bytes);
    return true;
  }

  private void await() {
    waiting = true;
    if (!registered) {
      registered = true;
      memory.await(wake);
    }
  }

  /** On any thread. */
  private void wake() {
    try {
      loop.execute(
          () -> {
            registered = false;
            if (waiting) {
              widen();
            }
            if (!waiting) {
              memory.wakeNext();
            }
          });
    } catch (RejectedExecutionException e) {
      log.debug("the server has stopped", e);
    }
  }
}
