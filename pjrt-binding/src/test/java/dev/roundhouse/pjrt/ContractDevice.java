package dev.roundhouse.pjrt;

/** The device that contract tests open: the CPU, or what {@code gpu-check} wants checked. */
final class ContractDevice {
  private static final String PLATFORM = "roundhouse.contract.platform";
  private static final String ALLOCATOR = "roundhouse.contract.allocator";

  private ContractDevice() {}

  /** A GPU takes over a second to give a test all of its memory, so it gives what is asked for. */
  static PjrtDeviceOptions options() {
    String platform = System.getProperty(PLATFORM, PluginOptions.CPU);
    PjrtDeviceOptions options =
        PjrtDeviceOptions.DEFAULTS.withPlugin(PluginOptions.DEFAULTS.withPlatform(platform));
    if (platform.equals(PluginOptions.CPU)) {
      return options;
    }
    ClientOptions client = options.client().with("preallocate", false);
    String allocator = System.getProperty(ALLOCATOR);
    return options.withClient(allocator == null ? client : client.with("allocator", allocator));
  }
}
