/**
 * What the first whole way through the server costs: {@link
 * dev.roundhouse.benchmarks.firstlight.JniExecute} is the native boundary against C++, {@link
 * dev.roundhouse.benchmarks.firstlight.ModelInfer} a worker process against a bare gRPC echo.
 */
@NullMarked
package dev.roundhouse.benchmarks.firstlight;

import org.jspecify.annotations.NullMarked;
