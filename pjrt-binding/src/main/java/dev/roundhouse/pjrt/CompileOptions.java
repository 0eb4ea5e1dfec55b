package dev.roundhouse.pjrt;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Options for compiling one program for one device. XLA's own options are set by name, as in
 * XLA_FLAGS without the dashes; an unknown name is refused by the compiler. Immutable.
 */
public final class CompileOptions {
  public static final CompileOptions DEFAULTS = new CompileOptions(Map.of(), Optional.empty());

  // Field numbers of xla/pjrt/proto/compile_options.proto.
  private static final int EXECUTABLE_BUILD_OPTIONS = 3;
  private static final int ENV_OPTION_OVERRIDES = 7;
  private static final int DEVICE_ORDINAL = 1;
  private static final int NUM_REPLICAS = 4;
  private static final int NUM_PARTITIONS = 5;
  private static final int DEVICE_ASSIGNMENT = 9;

  private static final String DUMP = "xla_dump_to";

  private final Map<String, ProtoWriter> overrides;
  private final Optional<String> dump;

  private CompileOptions(Map<String, ProtoWriter> overrides, Optional<String> dump) {
    this.overrides = Collections.unmodifiableMap(overrides);
    this.dump = dump;
  }

  public CompileOptions with(String name, String value) {
    CompileOptions changed = with(name, new ProtoWriter().string(1, value));
    return name.equals(DUMP) ? new CompileOptions(changed.overrides, Optional.of(value)) : changed;
  }

  public CompileOptions with(String name, boolean value) {
    return with(name, new ProtoWriter().varint(2, value ? 1 : 0));
  }

  public CompileOptions with(String name, long value) {
    return with(name, new ProtoWriter().varint(3, value));
  }

  public CompileOptions with(String name, double value) {
    return with(name, new ProtoWriter().float64(4, value));
  }

  /** The folder that XLA writes programs to; empty for none. */
  Optional<String> dump() {
    return dump;
  }

  /** Options that were given in another order are not equal. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof CompileOptions options && Arrays.equals(encode(0), options.encode(0));
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(encode(0));
  }

  /**
   * The CompileOptionsProto: always one replica and one partition, without which XLA aborts, and
   * always bound to {@code deviceId}, without which execute needs to name the device.
   */
  byte[] encode(int deviceId) {
    ProtoWriter computationDevice = new ProtoWriter().packed(1, deviceId);
    ProtoWriter assignment =
        new ProtoWriter().varint(1, 1).varint(2, 1).message(3, computationDevice);
    ProtoWriter build =
        new ProtoWriter()
            .varint(DEVICE_ORDINAL, -1)
            .varint(NUM_REPLICAS, 1)
            .varint(NUM_PARTITIONS, 1)
            .message(DEVICE_ASSIGNMENT, assignment);
    ProtoWriter options = new ProtoWriter().message(EXECUTABLE_BUILD_OPTIONS, build);
    overrides.forEach(
        (name, value) ->
            options.message(
                ENV_OPTION_OVERRIDES, new ProtoWriter().string(1, name).message(2, value)));
    return options.bytes();
  }

  private CompileOptions with(String name, ProtoWriter value) {
    Map<String, ProtoWriter> changed = new LinkedHashMap<>(overrides);
    changed.put(name, value);
    return new CompileOptions(changed, dump);
  }
}
