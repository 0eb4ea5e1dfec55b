package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.ManualClock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlatformProgramLoadTest {
  private static final String GENERAL = TestBundle.doublingProgram(1, 2);

  @TempDir Path repository;

  private final List<String> compiled = new ArrayList<>();

  /** Loads a model on a device whose plugin calls its platform so. */
  private ModelStatus load(Path folder, String platform) {
    ManualClock clock = new ManualClock(1_000_000);
    SimulatedDevice simulated =
        new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), clock);
    EngineOptions options = EngineOptions.builder().clock(clock).build();
    try (SteppedEngine stepped = SteppedEngine.open(options, new Named(simulated, platform))) {
      return stepped.engine().admin().load(folder).join();
    }
  }

  private Path model(String ownProgram) {
    return TestBundle.doubling(2, 1)
        .program("model.b1.cpu.mlir", ownProgram)
        .write(repository, "m");
  }

  private static String doublingByMultiplying() {
    return """
    module {
      func.func public @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
        %two = stablehlo.constant dense<2.0> : tensor<1x2xf32>
        %0 = stablehlo.multiply %x, %two : tensor<1x2xf32>
        return %0 : tensor<1x2xf32>
      }
    }
    """;
  }

  @Test
  void shouldCompileThePlatformsProgramAloneWhereThereIsOne() {
    Path folder = model(doublingByMultiplying());
    assertThat(load(folder, "cpu").isReady()).isTrue();
    assertThat(compiled).containsExactly("m/model.b1.cpu.mlir " + doublingByMultiplying());
    compiled.clear();
    assertThat(load(folder, "cuda").isReady()).isTrue();
    assertThat(compiled).containsExactly("m/model.b1.mlir " + GENERAL);
  }

  @Test
  void shouldRefuseWhatThePlatformsProgramMayNotDoThereAlone() {
    Path hangs =
        model(
            GENERAL.replace(
                "return", "\"stablehlo.outfeed\"(%0) {} : (tensor<1x2xf32>) -> ()\n    return"));
    ModelStatus status = load(hangs, "cpu");
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains("m/model.b1.cpu.mlir", "stablehlo.outfeed");
    assertThat(compiled).isEmpty();
    assertThat(load(hangs, "cuda").isReady()).isTrue();
  }

  @Test
  void shouldRefuseAPlatformsProgramOfAnotherSignature() {
    ModelStatus status = load(model(TestBundle.doublingProgram(1, 3)), "cpu");
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason())
        .contains("model.b1.cpu.mlir", "f32[1,3] in the artifact, but the manifest says f32[1,2]");
    assertThat(compiled).isEmpty();
  }

  @Test
  void shouldSayWhyAConverterRefusedAModel() throws Exception {
    Path folder = Files.createDirectory(repository.resolve("refused"));
    Files.writeString(
        folder.resolve("refused.txt"), "config.pbtxt: backend 'dali' is not served\n");
    ModelStatus status = load(folder, "cpu");
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.name()).isEqualTo("refused");
    assertThat(status.reason()).endsWith("refused.txt: config.pbtxt: backend 'dali' is not served");
  }

  private final class Named extends ForwardingDevice {
    private final String platform;

    Named(SimulatedDevice device, String platform) {
      super(device);
      this.platform = platform;
    }

    @Override
    public DeviceDescription description() {
      DeviceDescription device = super.description();
      return new DeviceDescription(
          platform,
          device.kind(),
          device.ordinal(),
          device.hostVisible(),
          device.onHostProcessors(),
          device.attributes());
    }

    @Override
    public DeviceProgram compile(ProgramSource source) {
      compiled.add(source.name() + " " + new String(source.code(), StandardCharsets.UTF_8));
      return super.compile(source);
    }
  }
}
