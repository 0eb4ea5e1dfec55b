package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.embedded.InferenceException;
import dev.roundhouse.engine.embedded.Roundhouse;
import dev.roundhouse.engine.embedded.RoundhouseConfig;
import java.io.IOException;
import java.time.Duration;

/** Every program of every sample through the engine, against what the CPU plugin answered. */
public final class Samples implements Step {
  @Override
  public String name() {
    return "samples";
  }

  @Override
  public String about() {
    return "answers of every sample program, against the CPU plugin's";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(60);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws IOException {
    if (context.allocator() != null) {
      findings.fact("allocator", "the plugin's own choice: an embedded engine names none");
    }
    RoundhouseConfig config =
        RoundhouseConfig.of(context.models()).withDevice("pjrt", context.settings());
    try (Roundhouse roundhouse = Roundhouse.open(config)) {
      for (SampleCase sample : SampleCase.readAll(context.expected())) {
        try {
          Difference difference =
              sample.compare(
                  roundhouse.infer(sample.model(), sample.inputTensors()).outputs(),
                  context.platform());
          findings.check(sample.what(), difference.isRight(), difference.toString());
        } catch (InferenceException refused) {
          findings.fail(sample.what(), String.valueOf(refused.getMessage()));
        }
      }
    }
  }
}
