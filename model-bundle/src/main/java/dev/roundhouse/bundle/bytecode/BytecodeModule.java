package dev.roundhouse.bundle.bytecode;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A module in MLIR bytecode, taken apart far enough to see which operations it has and to change
 * the attributes that are their properties. Everything else is written again as it was read.
 */
public final class BytecodeModule {
  /** What StableHLO 0.15 and later writes: properties apart from other attributes. */
  public static final int VERSION = 6;

  static final int OPERATIONS = 4;

  private static final byte[] MAGIC = {'M', 'L', (byte) 0xEF, 'R'};
  private static final int STRINGS = 0;
  private static final int DIALECTS = 1;
  private static final int ENTRIES = 2;
  private static final int ENTRY_OFFSETS = 3;
  private static final int PROPERTIES = 8;
  private static final int ALIGNED = 0x80;
  private static final int PADDING = 0xCB;
  private static final int MAX_ALIGNMENT = 1 << 16;

  private final Slice header;
  private final List<Section> sections;
  private final Dialects dialects;
  private final EncodedTable table;
  private final List<Slice> properties;
  private final OperationReader.Read operations;

  /**
   * @param alignment of its content in the file; 0 for none
   */
  private record Section(int id, int alignment, Slice content) {}

  private BytecodeModule(byte[] code) {
    if (code.length < MAGIC.length
        || !Arrays.equals(code, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw new MalformedBytecodeException("the file does not begin as MLIR bytecode does");
    }
    ByteCursor cursor = new ByteCursor(code, MAGIC.length, code.length);
    long version = cursor.varInt();
    if (version != VERSION) {
      throw new MalformedBytecodeException(
          "the bytecode is of version " + Long.toUnsignedString(version) + ", not " + VERSION);
    }
    cursor.terminatedText();
    header = new Slice(code, 0, cursor.position());
    sections = sections(cursor);
    dialects = Dialects.read(content(DIALECTS), content(STRINGS));
    table = EncodedTable.read(content(ENTRY_OFFSETS), content(ENTRIES), dialects.names().size());
    properties = has(PROPERTIES) ? properties(content(PROPERTIES)) : new ArrayList<>();
    operations =
        OperationReader.read(
            content(OPERATIONS),
            dialects,
            table.attributes.size(),
            table.types.size(),
            properties.size());
  }

  /**
   * @param code borrowed for as long as the module is used, and not to be changed
   * @throws MalformedBytecodeException when it is not bytecode as known here
   */
  public static BytecodeModule read(byte[] code) {
    return new BytecodeModule(code);
  }

  /** Every operation, in the file's order. */
  public List<OperationUse> operations() {
    return List.copyOf(operations.flat());
  }

  /** What the file holds, as it is nested. */
  public OperationUse.BlockUse root() {
    return operations.root();
  }

  /** A text of the table that attributes refer to. */
  public String string(int index) {
    return dialects.string(index);
  }

  /** The bytes that an attribute holds at its end, behind their length. */
  public byte[] blob(ByteCursor cursor) {
    Slice blob = cursor.slice(cursor.count());
    cursor.expectEnd();
    return Arrays.copyOfRange(blob.bytes(), blob.offset(), blob.offset() + blob.length());
  }

  public int types() {
    return table.types.size();
  }

  /** Reads an attribute; empty bytes when it is not one of this dialect in its own encoding. */
  public ByteCursor attribute(int index, String dialect) {
    return entry(table.attributes, index, dialect);
  }

  /** Reads a type; empty bytes when it is not one of this dialect in its own encoding. */
  public ByteCursor type(int index, String dialect) {
    return entry(table.types, index, dialect);
  }

  /** The position of an attribute with these bytes, added if missing. */
  public int attribute(String dialect, ByteSink encoding) {
    return position(table.attributes, dialect, encoding);
  }

  /** The position of a type with these bytes, added if missing. */
  public int type(String dialect, ByteSink encoding) {
    return position(table.types, dialect, encoding);
  }

  /** The properties of an operation, where they are one attribute each. */
  public int[] attributesOf(OperationUse operation) {
    ByteCursor cursor = properties.get(operation.properties()).cursor();
    List<Integer> references = new ArrayList<>();
    while (cursor.hasMore()) {
      references.add(cursor.index(table.attributes.size(), "attribute"));
    }
    return references.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Changes the properties of every operation that uses this entry. */
  public void setAttributes(OperationUse operation, int[] references) {
    ByteSink sink = new ByteSink();
    for (int reference : references) {
      sink.varInt(reference);
    }
    properties.set(operation.properties(), Slice.of(sink.bytes()));
  }

  /** The module as bytecode. */
  public byte[] write() {
    ByteSink out = new ByteSink();
    out.put(header);
    for (Section section : sections) {
      Slice content =
          switch (section.id()) {
            case ENTRIES -> table.data();
            case ENTRY_OFFSETS -> table.offsets();
            case PROPERTIES -> propertySection();
            default -> section.content();
          };
      out.put(section.id() | (section.alignment() > 0 ? ALIGNED : 0));
      out.varInt(content.length());
      if (section.alignment() > 0) {
        out.varInt(section.alignment());
        while (out.size() % section.alignment() != 0) {
          out.put(PADDING);
        }
      }
      out.put(content);
    }
    return out.bytes();
  }

  private static List<Section> sections(ByteCursor cursor) {
    List<Section> sections = new ArrayList<>();
    while (cursor.hasMore()) {
      int idAndFlag = cursor.next();
      int id = idAndFlag & ~ALIGNED;
      int length = cursor.count();
      int alignment = 0;
      if ((idAndFlag & ALIGNED) != 0) {
        alignment = cursor.count();
        if (Integer.bitCount(alignment) != 1 || alignment > MAX_ALIGNMENT) {
          throw cursor.malformed("has a section aligned to " + alignment);
        }
        while (cursor.position() % alignment != 0) {
          if (cursor.next() != PADDING) {
            throw cursor.malformed("has padding that is none");
          }
        }
      }
      if (sections.stream().anyMatch(section -> section.id() == id)) {
        throw cursor.malformed("has section " + id + " twice");
      }
      sections.add(new Section(id, alignment, cursor.slice(length)));
    }
    return sections;
  }

  private boolean has(int id) {
    return sections.stream().anyMatch(section -> section.id() == id);
  }

  private Slice content(int id) {
    return sections.stream()
        .filter(section -> section.id() == id)
        .findFirst()
        .orElseThrow(() -> new MalformedBytecodeException("bytecode has no section " + id))
        .content();
  }

  private static List<Slice> properties(Slice section) {
    ByteCursor cursor = section.cursor();
    List<Slice> properties = new ArrayList<>();
    for (int left = cursor.countWithin(); left > 0; left--) {
      properties.add(cursor.slice(cursor.count()));
    }
    cursor.expectEnd();
    return properties;
  }

  private Slice propertySection() {
    ByteSink sink = new ByteSink().varInt(properties.size());
    for (Slice entry : properties) {
      sink.varInt(entry.length()).put(entry);
    }
    return Slice.of(sink.bytes());
  }

  private ByteCursor entry(List<EncodedTable.Entry> entries, int index, String dialect) {
    if (index >= entries.size()) {
      throw new MalformedBytecodeException(
          "bytecode refers to attribute or type " + index + " of " + entries.size());
    }
    EncodedTable.Entry entry = entries.get(index);
    boolean known = entry.custom() && dialects.names().get(entry.dialect()).equals(dialect);
    return (known ? entry.bytes() : Slice.of(new byte[0])).cursor();
  }

  private int position(List<EncodedTable.Entry> entries, String dialect, ByteSink encoding) {
    int dialectIndex = dialects.names().indexOf(dialect);
    if (dialectIndex < 0) {
      throw new MalformedBytecodeException("bytecode has no dialect " + dialect);
    }
    EncodedTable.Entry wanted =
        new EncodedTable.Entry(dialectIndex, true, Slice.of(encoding.bytes()));
    int found = entries.indexOf(wanted);
    if (found >= 0) {
      return found;
    }
    entries.add(wanted);
    return entries.size() - 1;
  }
}
