package dev.roundhouse.pjrt;

/** The device that contract tests open: the CPU, or what {@code gpu-check} wants checked. */
final class ContractDevice {
  private static final String PLATFORM = "roundhouse.contract.platform";

  private ContractDevice() {}

  static PjrtDeviceOptions options() {
    return PjrtDeviceOptions.DEFAULTS.withPlugin(
        PluginOptions.DEFAULTS.withPlatform(System.getProperty(PLATFORM, PluginOptions.CPU)));
  }
}
