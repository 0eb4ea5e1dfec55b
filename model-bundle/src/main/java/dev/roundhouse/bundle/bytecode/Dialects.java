package dev.roundhouse.bundle.bytecode;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Names of dialects and operations, from the sections of dialects and strings. */
record Dialects(List<String> names, List<Operation> operations, List<String> strings) {

  /**
   * @param name with its dialect, such as {@code vhlo.add_v1}
   * @param registered known to whoever wrote the file; its properties are then encoded natively
   */
  record Operation(String name, boolean registered) {}

  static Dialects read(Slice section, Slice stringSection) {
    List<String> strings = strings(stringSection);
    ByteCursor cursor = section.cursor();
    List<String> names = new ArrayList<>();
    for (int left = cursor.countWithin(); left > 0; left--) {
      long nameAndFlag = cursor.varInt();
      if ((nameAndFlag & 1) == 1) {
        // A versioned dialect holds a section of its own here.
        cursor.next();
        cursor.slice(cursor.count());
      }
      names.add(string(strings, nameAndFlag >>> 1, cursor));
    }
    int total = cursor.countWithin();
    List<Operation> operations = new ArrayList<>(total);
    while (cursor.hasMore()) {
      String dialect = names.get(cursor.index(names.size(), "dialect"));
      for (int left = cursor.countWithin(); left > 0; left--) {
        long nameAndFlag = cursor.varInt();
        String name = dialect + "." + string(strings, nameAndFlag >>> 1, cursor);
        operations.add(new Operation(name, (nameAndFlag & 1) == 1));
      }
    }
    if (operations.size() != total) {
      throw cursor.malformed("names " + operations.size() + " operations of " + total);
    }
    return new Dialects(names, operations, strings);
  }

  String string(int index) {
    if (index < 0 || index >= strings.size()) {
      throw new MalformedBytecodeException(
          "bytecode refers to string " + index + " of " + strings.size());
    }
    return strings.get(index);
  }

  private static String string(List<String> strings, long index, ByteCursor cursor) {
    if (index < 0 || index >= strings.size()) {
      throw cursor.malformed("refers to string " + index + " of " + strings.size());
    }
    return strings.get((int) index);
  }

  private static List<String> strings(Slice section) {
    ByteCursor cursor = section.cursor();
    int[] lengths = new int[cursor.countWithin()];
    for (int i = lengths.length - 1; i >= 0; i--) {
      lengths[i] = cursor.count();
    }
    List<String> strings = new ArrayList<>(lengths.length);
    for (int length : lengths) {
      Slice bytes = cursor.slice(length);
      // Lengths count the NUL at the end.
      strings.add(
          new String(
              bytes.bytes(), bytes.offset(), Math.max(0, length - 1), StandardCharsets.UTF_8));
    }
    cursor.expectEnd();
    return strings;
  }
}
