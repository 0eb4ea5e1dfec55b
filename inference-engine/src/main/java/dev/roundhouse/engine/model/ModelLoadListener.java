package dev.roundhouse.engine.model;

/**
 * Told when the load of a version begins and ends, on the thread that loads it; several may load at
 * once. What begins and never ends was being loaded when the process died.
 */
public interface ModelLoadListener {
  /** Hears nothing. */
  ModelLoadListener NONE =
      new ModelLoadListener() {
        @Override
        public void onBegin(String model, String version, String fingerprint) {}

        @Override
        public void onEnd(String model, String version, boolean ready) {}
      };

  /**
   * Before the first of its files is read.
   *
   * @param fingerprint changes with its files; empty when there are none
   * @throws RuntimeException to have the load fail, with that message; it is not told to have ended
   */
  void onBegin(String model, String version, String fingerprint);

  /**
   * It has been made, and is to run for the first time.
   *
   * @param modelIndex its number, which is another's when it has been freed
   */
  default void onBuilt(String model, String version, int modelIndex) {}

  /**
   * It serves, or has failed; not told of what the engine itself has failed over.
   *
   * @param ready it serves
   */
  void onEnd(String model, String version, boolean ready);
}
