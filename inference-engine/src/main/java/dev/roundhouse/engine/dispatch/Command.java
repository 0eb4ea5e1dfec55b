package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.lane.LaneOptions;
import dev.roundhouse.engine.layout.Staging;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.Servable;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** What the dispatch thread can be asked to do, besides running requests. */
sealed interface Command {

  /**
   * Take a model in and warm each of its programs up.
   *
   * @param larger memory for the slots' inputs, when the model needs more than they have; taken
   * @param warmedUp completed on the dispatch thread; exceptionally when a program does not run
   */
  record Activate(
      ProgramModel model,
      LaneOptions options,
      List<Staging.Memory> larger,
      CompletableFuture<Void> warmedUp)
      implements Command {}

  /** Change a model's weight; no effect once it is retired. */
  record SetWeight(ProgramModel model, double weight) implements Command {}

  /**
   * Keep a model's weights on the device, or let them be evicted.
   *
   * @param done completed when done
   */
  record Pin(ProgramModel model, boolean pinned, CompletableFuture<Void> done) implements Command {}

  /** Bring a model's weights, as long as somebody holds them for a call to come. */
  record BringAhead(ProgramModel model) implements Command {}

  /**
   * Take all weights off the device that may leave now, and bring some back.
   *
   * @param done completed, with the bytes of weights that are there, when the models to reload are
   */
  record Compact(List<ProgramModel> reload, CompletableFuture<Compacted> done) implements Command {}

  /**
   * Let go of a model that admission no longer finds, once all that it accepted has ended.
   *
   * @param retired completed when nothing of the model is held or on the device
   */
  record Retire(Servable model, CompletableFuture<Void> retired) {}

  /** Run held batches, and stop holding. */
  record StopHolding() implements Command {}

  /**
   * Report the loop's state.
   *
   * @param scope what of it
   * @param state completed on the dispatch thread
   */
  record Describe(DispatchState.Scope scope, CompletableFuture<DispatchState> state)
      implements Command {}
}
