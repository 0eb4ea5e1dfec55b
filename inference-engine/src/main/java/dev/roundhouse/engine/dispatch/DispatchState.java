package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.schedule.Discipline;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The dispatch loop at one moment.
 *
 * @param discipline which model runs next
 * @param running the model of the execution in flight; null when the device idles
 * @param armed the model whose batch runs next; null when none has been made up
 * @param longestCycleNanos longest time between two choices while there was work, with what the
 *     device did on the loop's own thread
 * @param weights what is on the device
 * @param models every model that may be sent requests, or those of which there is news
 * @param atNanos when that was, on the engine's clock
 * @param runs the latest ones, warm-up included
 * @param loads of weights, the latest ones, failed ones included
 * @param usedSlots of the {@link #BATCH_SLOTS}, those that hold a batch
 * @param evictions the latest ones, without those of models that are gone
 * @param tenantNanos device time that each tenant has had, by its number; none where nobody is told
 *     apart
 */
public record DispatchState(
    String discipline,
    @Nullable String running,
    @Nullable String armed,
    long longestCycleNanos,
    CacheState weights,
    List<LaneState> models,
    long atNanos,
    Latest runs,
    Latest loads,
    int usedSlots,
    List<Eviction> evictions,
    long[] tenantNanos) {
  /** Batches that may be made up, run and answered at once. */
  public static final int BATCH_SLOTS = BatchSlots.COUNT;

  /** What is told. */
  public enum Scope {
    /** All models, but not why what waits does not run: for every scrape. */
    WITHOUT_REASONS,
    /** All models, and why: for people. */
    ALL,
    /** As {@link #ALL}, to one who asks for {@link #NEWS} from now on. */
    FIRST,
    /**
     * Models of which something else is to be told than the last time, and some of the others in
     * turn, so that each has been told of after some times; and why what waits does not run. For
     * one who keeps what was told.
     */
    NEWS
  }

  /**
   * The latest things of a kind that ended.
   *
   * @param ever how many have since the start
   * @param spans as many of the latest as are kept, by when they ended, without those of models
   *     that are gone
   */
  public record Latest(long ever, List<Span> spans) {}

  /**
   * Something that took time for a model.
   *
   * @param endedNanos on the engine's clock
   */
  public record Span(String model, long tookNanos, long endedNanos) {}

  /**
   * Weights left the device.
   *
   * @param forModel which needed the room; null when an operator asked
   * @param atNanos on the engine's clock
   */
  public record Eviction(String model, @Nullable String forModel, long atNanos) {}

  /**
   * Weights on the device, in bytes.
   *
   * @param policy what decides which leave
   * @param poolBytes what they may take together; {@link Long#MAX_VALUE} for no limit that is known
   * @param scratchBytes most that the runs of one model take besides
   * @param pinnedBytes of models that never leave, wherever they are
   * @param loadingBytes on their way
   */
  public record CacheState(
      String policy,
      long poolBytes,
      long scratchBytes,
      long residentBytes,
      long pinnedBytes,
      long loadingBytes) {}

  /** Where a model's weights are. */
  public enum Place {
    ABSENT,
    LOADING,
    RESIDENT
  }

  /**
   * A model's weights.
   *
   * @param pinned true when they never leave the device
   * @param sinceUsedNanos since a batch of it last began; below 0 for never, or when that is not
   *     kept, because nothing limits what is on the device
   * @param nextUseNanos in how long it is expected to be used; infinite when nothing tells
   */
  public record WeightsState(
      Place place, boolean pinned, long byteSize, long sinceUsedNanos, double nextUseNanos) {}

  /**
   * One model at that moment.
   *
   * @param version of the model: several may serve, and a replaced one runs what it accepted
   * @param weight relative to other models
   * @param queued requests in its queue, cancelled ones included
   * @param held true while its batch waits for more requests
   * @param weights where they are
   * @param standing its claim on the device; null when the discipline has none
   * @param waiting why what waits does not run now; null when nothing waits, or that was not asked
   */
  public record LaneState(
      String model,
      String version,
      double weight,
      int queued,
      boolean held,
      Discipline.@Nullable Standing standing,
      WeightsState weights,
      @Nullable Waiting waiting) {}
}
