package dev.roundhouse.engine.model;

/**
 * Told when the load of a version begins and ends, on the thread that loads it; several may load at
 * once. What begins and never ends was being loaded when the process died.
 */
public interface LoadListener {
  /** Hears nothing. */
  LoadListener NONE =
      new LoadListener() {
        @Override
        public void onBegin(String model, String version) {}

        @Override
        public void onEnd(String model, String version) {}
      };

  /**
   * Before the first of its files is read.
   *
   * @throws RuntimeException to have the load fail, with that message; it is not told to have ended
   */
  void onBegin(String model, String version);

  /** It serves, or has failed; not told of what the engine itself has failed over. */
  void onEnd(String model, String version);
}
