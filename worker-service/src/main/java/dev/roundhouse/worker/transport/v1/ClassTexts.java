package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader.Output.Class;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader.Output.Classes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Reads classes where v2 has them as texts, {@code value:index} or {@code value:index:label}. */
final class ClassTexts {
  private static final int PARTS = 3;

  private ClassTexts() {}

  /**
   * @param shape {@code [rows, classes]}, or {@code [classes]} of an output without rows
   * @param texts each after its length; from the position on
   */
  static List<Classes> rows(Shape shape, ByteBuffer texts) {
    ByteBuffer left = texts.slice().order(ByteOrder.LITTLE_ENDIAN);
    boolean hasRows = shape.rank() > 1;
    long rows = hasRows ? shape.dim(0) : 1;
    long classes = shape.dim(hasRows ? 1 : 0);
    List<Classes> all = new ArrayList<>();
    for (long row = 0; row < rows; row++) {
      Classes.Builder ofRow = Classes.newBuilder();
      for (long i = 0; i < classes; i++) {
        byte[] text = new byte[left.getInt()];
        left.get(text);
        ofRow.addCls(read(new String(text, StandardCharsets.UTF_8)));
      }
      all.add(ofRow.build());
    }
    return all;
  }

  private static Class read(String text) {
    String[] parts = text.split(":", PARTS); // a label may have colons of its own
    Class.Builder read =
        Class.newBuilder().setValue(value(parts[0])).setIdx(Integer.parseInt(parts[1]));
    if (parts.length == PARTS) {
      read.setLabel(parts[2]);
    }
    return read.build();
  }

  /** As C writes what is no number, which Java reads by other names. */
  private static float value(String text) {
    return switch (text) {
      case "inf" -> Float.POSITIVE_INFINITY;
      case "-inf" -> Float.NEGATIVE_INFINITY;
      case "nan", "-nan" -> Float.NaN;
      default -> Float.parseFloat(text);
    };
  }
}
