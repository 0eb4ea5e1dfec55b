package dev.roundhouse.bundle.bytecode;

import java.util.List;

/**
 * An operation of a module.
 *
 * @param name with its dialect, such as {@code vhlo.add_v1}
 * @param properties which entry of the table of properties it uses; {@link #NONE} for none in their
 *     native encoding
 * @param firstResult the number of its first result; the others follow. Numbers are of values that
 *     can be seen from where they are used, so blocks that cannot see each other use the same
 * @param resultTypes positions in the table of types
 * @param operands numbers of values
 * @param regions what it holds
 */
public record OperationUse(
    String name,
    int properties,
    int firstResult,
    List<Integer> resultTypes,
    List<Integer> operands,
    List<List<BlockUse>> regions) {
  public static final int NONE = -1;

  /**
   * A block of operations.
   *
   * @param firstArgument the number of its first argument; the others follow
   * @param argumentTypes positions in the table of types
   */
  public record BlockUse(
      int firstArgument, List<Integer> argumentTypes, List<OperationUse> operations) {}
}
