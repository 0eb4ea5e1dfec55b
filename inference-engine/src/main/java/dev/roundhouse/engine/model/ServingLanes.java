package dev.roundhouse.engine.model;

import java.util.concurrent.CompletableFuture;

/** What the loader needs of the dispatch thread. Thread-safe. */
public interface ServingLanes {

  /**
   * Takes a model in: warms its programs up, or pins what it calls when its name is pinned.
   *
   * @return completes when requests may be sent to it; exceptionally when it does not run, and
   *     nothing of it is held then
   */
  CompletableFuture<Void> open(Servable model);

  /**
   * Lets a model go that admission does not find any more, once what it accepted has ended, and
   * what is pinned for it alone.
   *
   * @return completes when nothing of it is in use; cancelled when the engine stops first
   */
  CompletableFuture<Void> retire(Servable model);
}
