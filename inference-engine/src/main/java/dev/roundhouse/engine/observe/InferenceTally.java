package dev.roundhouse.engine.observe;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Counts what answered requests of one version took, batch by batch. Any thread may read: a reader
 * sees a batch whole or not at all. The owner's writes wait for nobody; of others, one writes after
 * the other. Writing allocates only when a batch has more rows, or takes more or less time, than
 * any before.
 *
 * <p>The sequence is odd while a batch is being counted. A reader that finds it odd, or changed by
 * the time it is done, reads again.
 */
public final class InferenceTally extends TimeBuckets {
  private static final VarHandle SEQUENCE;

  /** Of one number of rows: runs, and the three times. */
  private static final int CELLS = 4;

  private static final long[] NO_RUNS = {};

  // Kinds of times.
  private static final int WAIT = 0;
  private static final int ANSWER = 1;
  private static final int COMPUTE = 2;
  private static final int KINDS = 3;

  static {
    try {
      SEQUENCE = MethodHandles.lookup().findVarHandle(InferenceTally.class, "sequence", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** True when several threads write. */
  private final boolean shared;

  private long sequence;
  private long requests;
  private long answerNanos;
  private long queueNanos;
  private long inputNanos;
  private long computeNanos;
  private long outputNanos;
  private long lastRunNanos = InferenceReading.NEVER;
  private long[] runs = NO_RUNS;

  private InferenceTally(boolean shared) {
    super(KINDS);
    this.shared = shared;
  }

  /** For one thread. */
  static InferenceTally owned() {
    return new InferenceTally(false);
  }

  /** For any number of threads. */
  static InferenceTally shared() {
    return new InferenceTally(true);
  }

  /**
   * Counts a batch that has run, and those of its requests that are about to be answered.
   *
   * @param rows of requests, at least 1
   * @param startedNanos when its run began
   */
  public void add(
      int rows,
      long startedNanos,
      long batchInputNanos,
      long runNanos,
      long batchOutputNanos,
      Answered answered) {
    if (rows < 1) {
      throw new IllegalArgumentException("a batch of " + rows + " rows has not run");
    }
    begin();
    try {
      long[] counted = runs;
      if (counted.length < rows * CELLS) {
        counted = Arrays.copyOf(counted, Integer.highestOneBit(2 * rows - 1) * CELLS);
        runs = counted;
      }
      int cell = (rows - 1) * CELLS;
      counted[cell]++;
      counted[cell + 1] += batchInputNanos;
      counted[cell + 2] += runNanos;
      counted[cell + 3] += batchOutputNanos;
      lastRunNanos = startedNanos;
      requests += answered.requests;
      answerNanos += answered.answerNanos;
      queueNanos += answered.queueNanos;
      inputNanos += answered.inputNanos;
      computeNanos += answered.computeNanos;
      outputNanos += answered.outputNanos;
      count(COMPUTE, TimeHistogram.bucket(runNanos));
      for (int request = 0; request < answered.requests; request++) {
        count(WAIT, answered.waits[request]);
        count(ANSWER, answered.answers[request]);
      }
    } finally {
      SEQUENCE.setRelease(this, sequence + 1);
    }
  }

  private void begin() {
    if (shared) {
      long before = (long) SEQUENCE.getOpaque(this);
      while ((before & 1) != 0 || !SEQUENCE.compareAndSet(this, before, before + 1)) {
        Thread.yield(); // a writer may have lost its processor to this thread
        before = (long) SEQUENCE.getOpaque(this);
      }
    } else {
      SEQUENCE.setOpaque(this, sequence + 1);
    }
    VarHandle.storeStoreFence();
  }

  /** What the requests of one batch took together. One thread's, and used again. */
  public static final class Answered {
    private int requests;
    private long answerNanos;
    private long queueNanos;
    private long inputNanos;
    private long computeNanos;
    private long outputNanos;

    /** Buckets of each request's wait, and of the time until its answer. */
    private int[] waits;

    private int[] answers;

    /**
     * @param most requests for which there is room at once
     */
    public Answered(int most) {
      waits = new int[most];
      answers = new int[most];
    }

    public void clear() {
      requests = 0;
      answerNanos = 0;
      queueNanos = 0;
      inputNanos = 0;
      computeNanos = 0;
      outputNanos = 0;
    }

    /** Adds a request; times in nanoseconds, the first from acceptance to answer. */
    public void add(long whole, long queue, long input, long compute, long output) {
      if (requests == waits.length) {
        waits = Arrays.copyOf(waits, 2 * requests);
        answers = Arrays.copyOf(answers, 2 * requests);
      }
      waits[requests] = TimeHistogram.bucket(queue);
      answers[requests] = TimeHistogram.bucket(whole);
      requests++;
      answerNanos += whole;
      queueNanos += queue;
      inputNanos += input;
      computeNanos += compute;
      outputNanos += output;
    }
  }

  /** What has been counted. */
  public InferenceReading read() {
    while (true) {
      long before = (long) SEQUENCE.getAcquire(this);
      if ((before & 1) == 0) {
        long[] ofRuns = runs.clone();
        InferenceReading reading =
            new InferenceReading(
                requests,
                answerNanos,
                queueNanos,
                inputNanos,
                computeNanos,
                outputNanos,
                lastRunNanos,
                byRows(ofRuns),
                new InferenceReading.Times(read(WAIT), read(ANSWER), read(COMPUTE)));
        VarHandle.acquireFence();
        if ((long) SEQUENCE.getOpaque(this) == before) {
          return reading;
        }
      }
      Thread.yield(); // the writer may have lost its processor to this thread
    }
  }

  private static SortedMap<Integer, InferenceReading.Runs> byRows(long[] cells) {
    SortedMap<Integer, InferenceReading.Runs> byRows = new TreeMap<>();
    for (int cell = 0; cell < cells.length; cell += CELLS) {
      if (cells[cell] > 0) {
        byRows.put(
            cell / CELLS + 1,
            new InferenceReading.Runs(
                cells[cell], cells[cell + 1], cells[cell + 2], cells[cell + 3]));
      }
    }
    return byRows;
  }
}
