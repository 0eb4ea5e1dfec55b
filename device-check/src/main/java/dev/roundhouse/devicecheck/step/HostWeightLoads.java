package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.PinnedMemory;
import dev.roundhouse.engine.hostweights.HostWeightsKind;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.hostweights.HostWeightsReport;
import dev.roundhouse.pjrt.PjrtDevice;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/** Loads of weights from host memory of the process's own and shared, page-locked and not. */
public final class HostWeightLoads implements Step {
  private static final long CPU_BYTES = 256L << 20;
  private static final long DEVICE_BYTES = 1L << 30;
  private static final Duration EACH = Duration.ofMillis(1500);

  @Override
  public String name() {
    return "host-memory";
  }

  @Override
  public String about() {
    return "weights from private and shared host memory, page-locked / not";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(60);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws Exception {
    long bytes = Math.min(context.isCpu() ? CPU_BYTES : DEVICE_BYTES, HostRoom.bytes() / 6);
    WeighedModel model = WeighedModel.of("host-weights", bytes, 6);
    try (PjrtDevice device = context.openCopyingDevice()) {
      for (Place place : Place.values()) {
        String what = "weights of %d MiB from %s memory".formatted(bytes >> 20, place.words);
        EngineOptions options =
            ServedModels.options(context).toBuilder().hostWeights(place.options).build();
        OptionalDouble plain = rate(options, new Unpinning(device), model, place, what, findings);
        OptionalDouble locked =
            rate(options, device, model, place, what + ", page-locked", findings);
        if (plain.isPresent() && locked.isPresent()) {
          findings.figure(
              what + ", page-locked / not",
              locked.getAsDouble() / plain.getAsDouble(),
              "ratio",
              "medians, one after the other");
        }
      }
    }
  }

  /** GB/s; empty when the memory was not of the kind that was wanted. */
  private static OptionalDouble rate(
      EngineOptions options,
      Device device,
      WeighedModel model,
      Place place,
      String what,
      Findings findings)
      throws Exception {
    try (Engine engine = Engine.open(options, device)) {
      ServedModels served = new ServedModels(engine);
      served.load(model);
      HostWeightsReport weights =
          engine.reports().details(model.name()).flatMap(report -> report.onHost()).orElseThrow();
      if (weights.shared() != place.shared) {
        findings.notMeasured(
            what, "no room in " + Sharing.SHARED_MEMORY + ", or it cannot be used");
        return OptionalDouble.empty();
      }
      boolean wanted = !(device instanceof Unpinning);
      if (weights.pinned() != wanted) {
        findings.notMeasured(what, "the device does not map host memory, or may not");
        return OptionalDouble.empty();
      }
      Repeated loads = Repeated.within(EACH, () -> served.nanosToBring(model));
      double rate = model.weightBytes() / loads.medianNanos();
      findings.figure(
          what,
          rate,
          "GB/s",
          String.format(
              Locale.ROOT,
              "median of %d; huge pages: %s",
              loads.count(),
              weights.hugePages() ? "yes" : "no"));
      ClosedLoop.Result answer = ClosedLoop.ask(engine, model);
      if (!answer.isRight()) {
        findings.fail(what + ", answer", answer.complaints());
      }
      return OptionalDouble.of(rate);
    }
  }

  private enum Place {
    PRIVATE("private", false, HostWeightsOptions.DEFAULT),
    SHARED(
        "shared",
        true,
        new HostWeightsOptions(
            HostWeightsKind.KEPT,
            Long.MAX_VALUE,
            true,
            Optional.of(new Sharing(Sharing.SHARED_MEMORY, Sharing.DEFAULT_MODE))));

    final String words;
    final boolean shared;
    final HostWeightsOptions options;

    Place(String words, boolean shared, HostWeightsOptions options) {
      this.words = words;
      this.shared = shared;
      this.options = options;
    }
  }

  /** Page-locks nothing. */
  private static final class Unpinning extends ForwardingDevice {
    Unpinning(Device device) {
      super(device);
    }

    @Override
    public Optional<PinnedMemory> pin(MemorySegment memory) {
      return Optional.empty();
    }
  }
}
