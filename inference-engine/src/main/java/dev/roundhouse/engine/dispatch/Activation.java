package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.model.ServedModel;
import java.util.concurrent.CompletableFuture;

/**
 * Asks the dispatch thread to take a model in and run each of its programs once.
 *
 * @param rowCap most rows that may run together
 * @param warmedUp completed on the dispatch thread; exceptionally when a program does not run
 */
record Activation(ServedModel model, int rowCap, CompletableFuture<Void> warmedUp) {}
