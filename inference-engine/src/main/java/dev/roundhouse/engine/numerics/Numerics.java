package dev.roundhouse.engine.numerics;

import dev.roundhouse.bundle.artifact.F32Products.Scope;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.numerics.NumericsProbe.Finding;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A device under a policy of how exactly products of f32 are computed. Immutable.
 *
 * @param device compiles as the policy says; forwards to the device it was made of, which stays its
 *     opener's to close
 * @param summary one line for operators: policy, what is done to programs, what the probe saw
 */
public record Numerics(Device device, String summary) {
  private static final Logger log = LoggerFactory.getLogger(Numerics.class);

  /** When the probe is run. */
  public enum ProbeWhen {
    /** On every platform but {@code cpu} and simulated devices, which have no TF32. */
    AUTO,
    /** On every platform. */
    ALWAYS
  }

  /** How long the probe may take unless something else is said; a first compile takes seconds. */
  public static final Duration PROBE_LIMIT = Duration.ofMinutes(2);

  /**
   * As {@link #start(Device, NumericsPolicy, ProbeWhen, Duration)}, within {@link #PROBE_LIMIT}.
   */
  public static Numerics start(Device device, NumericsPolicy policy, ProbeWhen when) {
    return start(device, policy, when, PROBE_LIMIT);
  }

  /**
   * Puts a device under a policy, before anything is compiled for it. One compile and one run when
   * the probe is run.
   *
   * @param device used by this call alone until it returns; stays open when this throws
   * @param limit how long the probe may take
   * @throws NumericsException when the device cannot keep the policy
   * @throws DeviceHangsException when the probe takes longer; the device cannot be closed then
   */
  public static Numerics start(
      Device device, NumericsPolicy policy, ProbeWhen when, Duration limit) {
    DeviceDescription description = device.description();
    Tf32Support support = Tf32Support.of(description);
    if (policy == NumericsPolicy.TF32 && support == Tf32Support.NO) {
      throw new NumericsException(
          "numerics is tf32, and %s has no TF32; use auto, which computes such products in f32 there, or a GPU of compute capability 8.0 or more"
              .formatted(name(description)));
    }
    Device governed =
        switch (policy) {
          case F32 -> new RewritingDevice(device, Scope.EVERY_PRODUCT);
          case AUTO ->
              support == Tf32Support.NO
                  ? new RewritingDevice(device, Scope.TF32_ALGORITHMS)
                  : device;
          case TF32 -> device;
        };
    String programs =
        switch (policy) {
          case F32 -> "every product in f32";
          case AUTO ->
              support == Tf32Support.NO
                  ? "TF32 algorithms in f32, as the device has no TF32"
                  : "programs as they are";
          case TF32 -> "programs as they are";
        };
    boolean probed =
        switch (when) {
          case AUTO ->
              !description.platform().equals("cpu") && !description.platform().equals("simulated");
          case ALWAYS -> true;
        };
    String summary =
        "%s: %s; probe: %s"
            .formatted(
                policy.name().toLowerCase(Locale.ROOT),
                programs,
                probed ? probe(governed, policy, limit) : "not run on " + description.platform());
    log.info("numerics {}", summary);
    return new Numerics(governed, summary);
  }

  private static String probe(Device governed, NumericsPolicy policy, Duration limit) {
    long started = System.nanoTime();
    Finding finding;
    try {
      finding = new TimedProbe(governed, limit).run();
    } catch (DeviceException failure) {
      if (policy == NumericsPolicy.F32) {
        throw new NumericsException(
            "numerics is f32, and the device failed when that was probed: " + failure.getMessage(),
            failure);
      }
      log.warn("the probe of the device's numerics failed: {}", failure.getMessage());
      return "failed";
    }
    if (policy == NumericsPolicy.F32 && finding != Finding.EXACT) {
      throw new NumericsException(
          "numerics is f32, and %s multiplied %s: a product by the identity did not come back bit by bit, though every product was asked for in f32. Use numerics auto, or another device"
              .formatted(name(governed.description()), seen(finding)));
    }
    long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started);
    return seen(finding) + " (" + millis + " ms)";
  }

  private static String seen(Finding finding) {
    return switch (finding) {
      case EXACT -> "in f32";
      case TF32 -> "in TF32";
      case OTHER -> "neither in f32 nor in TF32";
    };
  }

  private static String name(DeviceDescription description) {
    return "device '%s' (%s)".formatted(description.kind(), description.platform());
  }
}
