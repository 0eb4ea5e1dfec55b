package dev.roundhouse.engine.dispatch;

/**
 * Records which model's run is on the device, in case the process dies. Called by the dispatch
 * thread for every run: a plain store, no more.
 */
public interface RunMark {
  /** Notes nothing. */
  RunMark NONE =
      new RunMark() {
        @Override
        public void running(int modelIndex) {}

        @Override
        public void idle() {}
      };

  /**
   * A run is about to start.
   *
   * @param modelIndex of the model, as {@link
   *     dev.roundhouse.engine.model.ModelLoadListener#onBuilt} told it
   */
  void running(int modelIndex);

  /** It has ended. */
  void idle();
}
