package dev.roundhouse.bundle.bytecode;

import dev.roundhouse.bundle.bytecode.OperationUse.BlockUse;
import java.util.ArrayList;
import java.util.List;

/** Walks the section of operations, nested regions included, without building any of them. */
final class OperationReader {
  private static final int HAS_ATTRIBUTES = 0x01;
  private static final int HAS_RESULTS = 0x02;
  private static final int HAS_OPERANDS = 0x04;
  private static final int HAS_SUCCESSORS = 0x08;
  private static final int HAS_REGIONS = 0x10;
  private static final int HAS_USE_ORDERS = 0x20;
  private static final int HAS_PROPERTIES = 0x40;
  private static final int MAX_DEPTH = 256;

  private final Dialects dialects;
  private final int attributes;
  private final int types;
  private final int properties;
  private final List<OperationUse> found = new ArrayList<>();

  /** The number of the next value of the region that is read. */
  private int nextValue;

  private OperationReader(Dialects dialects, int attributes, int types, int properties) {
    this.dialects = dialects;
    this.attributes = attributes;
    this.types = types;
    this.properties = properties;
  }

  /**
   * What a section holds.
   *
   * @param flat every operation, in the file's order
   */
  record Read(List<OperationUse> flat, BlockUse root) {}

  static Read read(Slice section, Dialects dialects, int attributes, int types, int properties) {
    OperationReader reader = new OperationReader(dialects, attributes, types, properties);
    ByteCursor cursor = section.cursor();
    BlockUse root = reader.block(cursor, 0, 0);
    cursor.expectEnd();
    return new Read(reader.found, root);
  }

  /**
   * @param inner the number of the first value of what is nested in this block
   */
  private BlockUse block(ByteCursor cursor, int depth, int inner) {
    int first = nextValue;
    List<Integer> argumentTypes = new ArrayList<>();
    long operationsAndFlag = cursor.varInt();
    if ((operationsAndFlag & 1) == 1) {
      int arguments = cursor.countWithin();
      for (int i = 0; i < arguments; i++) {
        long typeAndFlag = cursor.varInt();
        if (typeAndFlag < 0 || typeAndFlag >>> 1 >= types) {
          throw cursor.malformed("refers to type " + (typeAndFlag >>> 1) + " of " + types);
        }
        argumentTypes.add((int) (typeAndFlag >>> 1));
        if ((typeAndFlag & 1) == 1) {
          cursor.index(attributes, "location");
        }
      }
      if (cursor.next() != 0) {
        useOrders(cursor, arguments);
      }
    }
    nextValue += argumentTypes.size();
    List<OperationUse> operations = new ArrayList<>();
    for (long left = operationsAndFlag >>> 1; left > 0; left--) {
      operations.add(operation(cursor, depth, inner));
    }
    return new BlockUse(first, argumentTypes, operations);
  }

  private OperationUse operation(ByteCursor cursor, int depth, int inner) {
    Dialects.Operation operation =
        dialects.operations().get(cursor.index(dialects.operations().size(), "operation"));
    int mask = cursor.next();
    cursor.index(attributes, "location");
    if ((mask & HAS_ATTRIBUTES) != 0) {
      cursor.index(attributes, "attribute");
    }
    int used = OperationUse.NONE;
    if ((mask & HAS_PROPERTIES) != 0) {
      if (operation.registered()) {
        used = cursor.index(properties, "properties");
      } else {
        cursor.index(attributes, "attribute");
      }
    }
    List<Integer> resultTypes = List.of();
    if ((mask & HAS_RESULTS) != 0) {
      resultTypes = new ArrayList<>();
      for (int left = cursor.countWithin(); left > 0; left--) {
        resultTypes.add(cursor.index(types, "type"));
      }
    }
    List<Integer> operands = List.of();
    if ((mask & HAS_OPERANDS) != 0) {
      operands = new ArrayList<>();
      for (int left = cursor.countWithin(); left > 0; left--) {
        operands.add(cursor.count());
      }
    }
    List<List<BlockUse>> regions = new ArrayList<>();
    OperationUse use =
        new OperationUse(operation.name(), used, nextValue, resultTypes, operands, regions);
    found.add(use);
    nextValue += resultTypes.size();
    if ((mask & HAS_SUCCESSORS) != 0) {
      skipCounts(cursor);
    }
    if ((mask & HAS_USE_ORDERS) != 0) {
      useOrders(cursor, resultTypes.size());
    }
    if ((mask & HAS_REGIONS) != 0) {
      regions(cursor, depth + 1, inner, regions);
    }
    return use;
  }

  private void regions(ByteCursor cursor, int depth, int inner, List<List<BlockUse>> regions) {
    if (depth > MAX_DEPTH) {
      throw cursor.malformed("nests regions deeper than " + MAX_DEPTH);
    }
    int outer = nextValue;
    long regionsAndFlag = cursor.varInt();
    for (long left = regionsAndFlag >>> 1; left > 0; left--) {
      if ((regionsAndFlag & 1) == 1) {
        // Isolated regions lie in a section each, so that readers can put them off.
        if (cursor.next() != BytecodeModule.OPERATIONS) {
          throw cursor.malformed("has a region in a section of another kind");
        }
        ByteCursor section = cursor.slice(cursor.count()).cursor();
        regions.add(region(section, depth, 0));
        section.expectEnd();
      } else {
        regions.add(region(cursor, depth, inner));
      }
    }
    nextValue = outer;
  }

  /**
   * @param first the number of its first value
   */
  private List<BlockUse> region(ByteCursor cursor, int depth, int first) {
    int blocks = cursor.countWithin();
    int inner = first;
    if (blocks > 0) {
      inner += cursor.countWithin(); // values defined in it, what is nested in it aside
    }
    nextValue = first;
    List<BlockUse> read = new ArrayList<>();
    for (int i = 0; i < blocks; i++) {
      read.add(block(cursor, depth, inner));
    }
    return read;
  }

  private static void skipCounts(ByteCursor cursor) {
    for (int left = cursor.countWithin(); left > 0; left--) {
      cursor.count();
    }
  }

  private static void useOrders(ByteCursor cursor, int values) {
    int orders = values > 1 ? cursor.countWithin() : 1;
    for (int i = 0; i < orders; i++) {
      if (values > 1) {
        cursor.count();
      }
      long countAndFlag = cursor.varInt();
      for (long left = countAndFlag >>> 1; left > 0; left--) {
        cursor.count();
      }
    }
  }
}
