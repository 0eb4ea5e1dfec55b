package dev.roundhouse.engine.numerics;

import dev.roundhouse.bundle.artifact.F32Products;
import dev.roundhouse.bundle.artifact.F32Products.Scope;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Rewrites programs on their way to the compiler. */
final class RewritingDevice extends ForwardingDevice {
  private static final Logger log = LoggerFactory.getLogger(RewritingDevice.class);

  private final Scope scope;

  RewritingDevice(Device device, Scope scope) {
    super(device);
    this.scope = scope;
  }

  /**
   * {@inheritDoc}
   *
   * @throws dev.roundhouse.bundle.error.BundleException when it is to be rewritten and cannot be
   */
  @Override
  public DeviceProgram compile(ProgramSource source) {
    F32Products.Result rewritten = F32Products.rewrite(source.code(), source.name(), scope);
    if (rewritten.algorithms() + rewritten.precisions() > 0) {
      log.info(
          "{} computes in f32: {} TF32 algorithms replaced, {} products given precision HIGHEST",
          source.name(),
          rewritten.algorithms(),
          rewritten.precisions());
    }
    if (!rewritten.unchecked().isEmpty()) {
      log.warn(
          "{} has operations whose precision no policy reaches: {}",
          source.name(),
          rewritten.unchecked());
    }
    return super.compile(new ProgramSource(source.name(), rewritten.code()));
  }
}
