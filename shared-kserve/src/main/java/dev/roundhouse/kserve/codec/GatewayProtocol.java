package dev.roundhouse.kserve.codec;

/**
 * What a gateway and its workers tell each other beside KServe's protocol: {@code ControlService},
 * {@link SpentHeader}, {@link CallerHeader}, and how a failure says whom it is about. It has a
 * version, so that the two can be replaced one after the other: both speak all versions from their
 * oldest to their latest, and a gateway asks a worker only if they have one in common.
 *
 * <p>A change that the other side may pass over, as a further header or field, is none of the
 * version. One that it must know raises {@link #LATEST}; {@link #OLDEST} follows no sooner than a
 * release later.
 */
public final class GatewayProtocol {
  /** The version without a number, of workers that tell none, or servers of another kind. */
  public static final int OLDEST = 0;

  public static final int LATEST = 1;

  private GatewayProtocol() {}

  /** True when a side that speaks these has a version in common with this build. */
  public static boolean isSpoken(int oldest, int latest) {
    return latest >= OLDEST && oldest <= LATEST;
  }
}
