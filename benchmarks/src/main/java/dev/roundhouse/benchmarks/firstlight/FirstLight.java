package dev.roundhouse.benchmarks.firstlight;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;

/** Both measurements of this package, one after the other. */
public final class FirstLight implements Bench {

  @Override
  public String name() {
    return "first-light";
  }

  @Override
  public String about() {
    return "jni-execute and model-infer-4k";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    new JniExecute().run(run);
    new ModelInfer().run(run);
  }
}
