package dev.roundhouse.bundle.bytecode;

/**
 * An operation of a module.
 *
 * @param name with its dialect, such as {@code vhlo.add_v1}
 * @param properties which entry of the table of properties it uses; {@link #NONE} for none in their
 *     native encoding
 */
public record OperationUse(String name, int properties) {
  public static final int NONE = -1;
}
