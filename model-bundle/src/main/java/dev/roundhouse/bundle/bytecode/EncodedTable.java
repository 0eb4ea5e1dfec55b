package dev.roundhouse.bundle.bytecode;

import java.util.ArrayList;
import java.util.List;

/**
 * The attributes and types of a module, each a few bytes that its dialect understands. Sections
 * {@code attr_type} and {@code attr_type_offset}.
 */
final class EncodedTable {
  final List<Entry> attributes;
  final List<Entry> types;

  private EncodedTable(List<Entry> attributes, List<Entry> types) {
    this.attributes = attributes;
    this.types = types;
  }

  /**
   * @param custom in the dialect's own encoding; otherwise as text
   */
  record Entry(int dialect, boolean custom, Slice bytes) {}

  static EncodedTable read(Slice offsets, Slice data, int dialects) {
    ByteCursor cursor = offsets.cursor();
    int attributes = cursor.countWithin();
    int types = cursor.countWithin();
    ByteCursor content = data.cursor();
    EncodedTable table =
        new EncodedTable(
            entries(cursor, attributes, content, dialects),
            entries(cursor, types, content, dialects));
    cursor.expectEnd();
    content.expectEnd();
    return table;
  }

  private static List<Entry> entries(
      ByteCursor cursor, int total, ByteCursor content, int dialects) {
    List<Entry> entries = new ArrayList<>(total);
    while (entries.size() < total) {
      int dialect = cursor.index(dialects, "dialect");
      int count = cursor.countWithin();
      if (count > total - entries.size()) {
        throw cursor.malformed("has more attributes or types than it announces");
      }
      for (int i = 0; i < count; i++) {
        long lengthAndFlag = cursor.varInt();
        if (lengthAndFlag < 0 || lengthAndFlag >>> 1 > Integer.MAX_VALUE) {
          throw cursor.malformed("has an entry that is too long");
        }
        Slice bytes = content.slice((int) (lengthAndFlag >>> 1));
        entries.add(new Entry(dialect, (lengthAndFlag & 1) == 1, bytes));
      }
    }
    return entries;
  }

  Slice offsets() {
    ByteSink sink = new ByteSink().varInt(attributes.size()).varInt(types.size());
    putGroups(sink, attributes);
    putGroups(sink, types);
    return Slice.of(sink.bytes());
  }

  Slice data() {
    ByteSink sink = new ByteSink();
    attributes.forEach(entry -> sink.put(entry.bytes()));
    types.forEach(entry -> sink.put(entry.bytes()));
    return Slice.of(sink.bytes());
  }

  private static void putGroups(ByteSink sink, List<Entry> entries) {
    for (int start = 0; start < entries.size(); ) {
      int dialect = entries.get(start).dialect();
      int end = start;
      while (end < entries.size() && entries.get(end).dialect() == dialect) {
        end++;
      }
      sink.varInt(dialect).varInt(end - start);
      for (Entry entry : entries.subList(start, end)) {
        sink.varInt((long) entry.bytes().length() << 1 | (entry.custom() ? 1 : 0));
      }
      start = end;
    }
  }
}
