package dev.roundhouse.bundle.bytecode;

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

  private OperationReader(Dialects dialects, int attributes, int types, int properties) {
    this.dialects = dialects;
    this.attributes = attributes;
    this.types = types;
    this.properties = properties;
  }

  static List<OperationUse> read(
      Slice section, Dialects dialects, int attributes, int types, int properties) {
    OperationReader reader = new OperationReader(dialects, attributes, types, properties);
    ByteCursor cursor = section.cursor();
    reader.block(cursor, 0);
    cursor.expectEnd();
    return reader.found;
  }

  private void block(ByteCursor cursor, int depth) {
    long operationsAndFlag = cursor.varInt();
    if ((operationsAndFlag & 1) == 1) {
      int arguments = cursor.countWithin();
      for (int i = 0; i < arguments; i++) {
        long typeAndFlag = cursor.varInt();
        if ((typeAndFlag & 1) == 1) {
          cursor.index(attributes, "location");
        }
      }
      if (cursor.next() != 0) {
        useOrders(cursor, arguments);
      }
    }
    for (long left = operationsAndFlag >>> 1; left > 0; left--) {
      operation(cursor, depth);
    }
  }

  private void operation(ByteCursor cursor, int depth) {
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
    found.add(new OperationUse(operation.name(), used));
    int results = 0;
    if ((mask & HAS_RESULTS) != 0) {
      results = cursor.countWithin();
      for (int i = 0; i < results; i++) {
        cursor.index(types, "type");
      }
    }
    if ((mask & HAS_OPERANDS) != 0) {
      skipCounts(cursor);
    }
    if ((mask & HAS_SUCCESSORS) != 0) {
      skipCounts(cursor);
    }
    if ((mask & HAS_USE_ORDERS) != 0) {
      useOrders(cursor, results);
    }
    if ((mask & HAS_REGIONS) != 0) {
      regions(cursor, depth + 1);
    }
  }

  private void regions(ByteCursor cursor, int depth) {
    if (depth > MAX_DEPTH) {
      throw cursor.malformed("nests regions deeper than " + MAX_DEPTH);
    }
    long regionsAndFlag = cursor.varInt();
    for (long left = regionsAndFlag >>> 1; left > 0; left--) {
      if ((regionsAndFlag & 1) == 1) {
        // Isolated regions lie in a section each, so that readers can put them off.
        if (cursor.next() != BytecodeModule.OPERATIONS) {
          throw cursor.malformed("has a region in a section of another kind");
        }
        ByteCursor section = cursor.slice(cursor.count()).cursor();
        region(section, depth);
        section.expectEnd();
      } else {
        region(cursor, depth);
      }
    }
  }

  private void region(ByteCursor cursor, int depth) {
    int blocks = cursor.countWithin();
    if (blocks > 0) {
      cursor.count(); // values defined in it
    }
    for (int i = 0; i < blocks; i++) {
      block(cursor, depth);
    }
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
