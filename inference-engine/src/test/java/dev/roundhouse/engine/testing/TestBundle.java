package dev.roundhouse.engine.testing;

import dev.roundhouse.engine.device.ReferenceFunction;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes small format-3 bundles whose programs are real StableHLO and whose results are easy to
 * tell.
 */
public final class TestBundle {
  /** {@code y = 2x} for f32, whatever the shape: what {@link #doubling} computes. */
  public static final ReferenceFunction DOUBLE =
      (program, arguments, results) -> {
        MemorySegment x = arguments.getFirst();
        MemorySegment y = results.getFirst();
        for (long i = 0; i < x.byteSize() / 4; i++) {
          y.setAtIndex(
              ValueLayout.JAVA_FLOAT_UNALIGNED,
              i,
              2 * x.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
        }
      };

  /** What {@link #adding} computes. */
  public static final ReferenceFunction ADD =
      (program, arguments, results) -> {
        var f32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
        MemorySegment seen = results.get(2);
        for (int row = 0; row < arguments.get(0).byteSize() / Float.BYTES; row++) {
          float sum = arguments.get(0).getAtIndex(f32, row) + arguments.get(1).getAtIndex(f32, row);
          results.get(0).setAtIndex(f32, row, sum);
          results.get(1).setAtIndex(f32, row, sum);
          seen.setAtIndex(f32, 4L * row, arguments.get(2).getAtIndex(f32, row));
          seen.setAtIndex(f32, 4L * row + 1, arguments.get(3).getAtIndex(f32, row));
          seen.setAtIndex(f32, 4L * row + 2, arguments.get(4).getAtIndex(f32, row));
          seen.setAtIndex(
              f32, 4L * row + 3, arguments.get(5).getAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, row));
        }
      };

  /** What {@link #addingToAll} computes. */
  public static final ReferenceFunction ADD_TO_ALL =
      (program, arguments, results) -> {
        var f32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
        long rows = arguments.get(1).byteSize() / Float.BYTES;
        long width = arguments.get(0).byteSize() / Float.BYTES / rows;
        for (long i = 0; i < rows * width; i++) {
          float x = arguments.get(1).getAtIndex(f32, i / width);
          results.get(1).setAtIndex(f32, i, arguments.get(0).getAtIndex(f32, i) + x);
        }
        for (long row = 0; row < rows; row++) {
          results
              .get(0)
              .setAtIndex(f32, row, results.get(1).getAtIndex(f32, row * width + width - 1));
        }
      };

  private final Map<String, byte[]> files = new TreeMap<>();
  private String manifest;

  private TestBundle(String manifest) {
    this.manifest = manifest;
    files.put("weights.safetensors", safetensors("{}"));
  }

  /**
   * A model {@code x f32[n,width] -> y = 2x} without weights, compiled for the given batch sizes.
   */
  public static TestBundle doubling(int width, int... batchSizes) {
    StringBuilder sizes = new StringBuilder();
    for (int size : batchSizes) {
      sizes.append(sizes.isEmpty() ? "" : ", ").append(size);
    }
    TestBundle bundle =
        new TestBundle(
            """
            format_version: "3"
            kind: model
            description: doubles
            inputs:
              - {name: x, dtype: f32, shape: [n, %d]}
            outputs:
              - {name: y, dtype: f32, shape: [n, %d]}
            batch_sizes: [%s]
            """
                .formatted(width, width, sizes));
    for (int size : batchSizes) {
      bundle.program("model.b" + size + ".mlir", doublingProgram(size, width));
    }
    return bundle;
  }

  /** A meta {@code x f32[n,2] -> y f32[n,2]} that may call these; it needs a {@code Model.java}. */
  public static TestBundle meta(String... calls) {
    TestBundle bundle =
        new TestBundle(
            """
            format_version: "3"
            kind: meta
            client_inputs:
              - {name: x, dtype: f32, shape: [n, 2]}
            client_outputs:
              - {name: y, dtype: f32, shape: [n, 2]}
            meta: {calls: [%s]}
            """
                .formatted(String.join(", ", calls)));
    bundle.files.clear();
    return bundle;
  }

  /** Of kind ensemble, with these further lines of its manifest. */
  public static TestBundle ensemble(String lines) {
    TestBundle bundle = new TestBundle("format_version: \"3\"\nkind: ensemble\n" + lines);
    bundle.files.clear();
    return bundle;
  }

  /**
   * A model {@code x f32[n,2] -> y = 2x}, for one row, with weights of so many bytes, a multiple of
   * 4, that it does not look at.
   */
  public static TestBundle weighted(int weightBytes) {
    String type = "tensor<1x2xf32>";
    return doubling(2, 1)
        .program(
            "model.b1.mlir",
            """
            module {
              func.func public @main(%%x: %1$s, %%w: tensor<%2$dxf32>) -> %1$s {
                %%0 = stablehlo.add %%x, %%x : %1$s
                return %%0 : %1$s
              }
            }
            """
                .formatted(type, weightBytes / Float.BYTES))
        .file(
            "weights.safetensors",
            safetensors(
                """
                {"__metadata__":{"argument_order":"[\\"w\\"]"},"w":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}"""
                    .formatted(weightBytes / Float.BYTES, weightBytes),
                new byte[weightBytes]));
  }

  /**
   * A model {@code x f32[width] -> y = 2x} without a batch axis, so that each request runs alone.
   */
  public static TestBundle doublingOne(int width) {
    return new TestBundle(
            """
            format_version: "3"
            kind: model
            description: doubles
            inputs:
              - {name: x, dtype: f32, shape: [%d]}
            outputs:
              - {name: y, dtype: f32, shape: [%d]}
            """
                .formatted(width, width))
        .program("model.mlir", doublingProgram("tensor<" + width + "xf32>"));
  }

  /**
   * A model that adds up, over a sequence that is forgotten after a second, what it is sent: {@code
   * x f32[n,1] -> total f32[n,1]}, and {@code seen f32[n,4]}, the values of start, end, ready and
   * sequence_id. For the given batch sizes.
   */
  public static TestBundle adding(int... batchSizes) {
    TestBundle bundle =
        new TestBundle(
            """
            format_version: "3"
            kind: model
            description: adds up
            inputs:
              - {name: sum_in, dtype: f32, shape: [n, 1]}
              - {name: x, dtype: f32, shape: [n, 1]}
              - {name: START, dtype: f32, shape: [n, 1]}
              - {name: END, dtype: f32, shape: [n, 1]}
              - {name: READY, dtype: f32, shape: [n, 1]}
              - {name: CORRID, dtype: u64, shape: [n, 1]}
            outputs:
              - {name: total, dtype: f32, shape: [n, 1]}
              - {name: sum_out, dtype: f32, shape: [n, 1]}
              - {name: seen, dtype: f32, shape: [n, 4]}
            batch_sizes: %s
            """
                .formatted(Arrays.toString(batchSizes)));
    for (int size : batchSizes) {
      bundle.program("model.b" + size + ".mlir", addingProgram(size));
    }
    return bundle.serving(
        """
        sequence:
          idle: 1s
          controls: {start: START, end: END, ready: READY, correlation_id: CORRID}
          state: [{input: sum_in, output: sum_out, initial: zero}]
        """);
  }

  /**
   * A model that adds what it is sent, {@code x f32[n,1]}, to every element of its state, {@code
   * f32[n,width]}, over a sequence that is forgotten after a second: {@code total f32[n,1]} is the
   * last of them.
   */
  public static TestBundle addingToAll(int width, int... batchSizes) {
    TestBundle bundle =
        new TestBundle(
            """
            format_version: "3"
            kind: model
            description: adds to all
            inputs:
              - {name: sum_in, dtype: f32, shape: [n, %1$d]}
              - {name: x, dtype: f32, shape: [n, 1]}
            outputs:
              - {name: total, dtype: f32, shape: [n, 1]}
              - {name: sum_out, dtype: f32, shape: [n, %1$d]}
            batch_sizes: %2$s
            """
                .formatted(width, Arrays.toString(batchSizes)));
    for (int size : batchSizes) {
      bundle.program(
          "model.b" + size + ".mlir",
          """
          module {
            func.func public @main(%%sum: %1$s, %%x: %2$s) -> (%2$s, %1$s) {
              %%0 = stablehlo.broadcast_in_dim %%x, dims = [0, 1] : (%2$s) -> %1$s
              %%1 = stablehlo.add %%sum, %%0 : %1$s
              %%2 = stablehlo.slice %%1 [0:%3$d, %4$d:%5$d] : (%1$s) -> %2$s
              return %%2, %%1 : %2$s, %1$s
            }
          }
          """
              .formatted(
                  "tensor<" + size + "x" + width + "xf32>",
                  "tensor<" + size + "x1xf32>",
                  size,
                  width - 1,
                  width));
    }
    return bundle.serving(
        """
        sequence:
          idle: 1s
          state: [{input: sum_in, output: sum_out, initial: zero}]
        """);
  }

  /** {@link #adding} for one row, with zeros after what was seen: {@code seen f32[n,width]}. */
  public static TestBundle addingWide(int width) {
    String wide = "tensor<1x" + width + "xf32>";
    String padded =
        """
        %%3 = stablehlo.constant dense<0.0> : tensor<f32>
        %%4 = stablehlo.pad %%2, %%3, low = [0, 0], high = [0, %d], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> %s
        return %%0, %%0, %%4 : tensor<1x1xf32>, tensor<1x1xf32>, %s
        """
            .formatted(width - 4, wide, wide);
    String program = addingProgram(1);
    String lastLine = program.substring(program.indexOf("return "), program.lastIndexOf("  }"));
    return adding(1)
        .changed(
            "name: seen, dtype: f32, shape: [n, 4]",
            "name: seen, dtype: f32, shape: [n, " + width + "]")
        .program(
            "model.b1.mlir",
            program
                .replace(lastLine, padded)
                .replace(
                    "tensor<1x1xf32>, tensor<1x4xf32>) {", "tensor<1x1xf32>, " + wide + ") {"));
  }

  private static String addingProgram(int rows) {
    return """
    module {
      func.func public @main(%%sum: %1$s, %%x: %1$s, %%start: %1$s, %%end: %1$s, %%ready: %1$s, %%id: tensor<%2$dx1xui64>) -> (%1$s, %1$s, tensor<%2$dx4xf32>) {
        %%0 = stablehlo.add %%sum, %%x : %1$s
        %%1 = stablehlo.convert %%id : (tensor<%2$dx1xui64>) -> %1$s
        %%2 = stablehlo.concatenate %%start, %%end, %%ready, %%1, dim = 1 : (%1$s, %1$s, %1$s, %1$s) -> tensor<%2$dx4xf32>
        return %%0, %%0, %%2 : %1$s, %1$s, tensor<%2$dx4xf32>
      }
    }
    """
        .formatted("tensor<" + rows + "x1xf32>", rows);
  }

  /** A model {@code x f32[n,2] -> y f16[n,4]}, for one row: the same bytes. */
  public static TestBundle halves() {
    TestBundle bundle = doubling(2, 1);
    bundle.manifest =
        bundle.manifest.replace(
            "{name: y, dtype: f32, shape: [n, 2]}", "{name: y, dtype: f16, shape: [n, 4]}");
    return bundle.program(
        "model.b1.mlir",
        """
        module {
          func.func public @main(%x: tensor<1x2xf32>) -> tensor<1x4xf16> {
            %0 = stablehlo.bitcast_convert %x : (tensor<1x2xf32>) -> tensor<1x2x2xf16>
            %1 = stablehlo.reshape %0 : (tensor<1x2x2xf16>) -> tensor<1x4xf16>
            return %1 : tensor<1x4xf16>
          }
        }
        """);
  }

  /** StableHLO text of one doubling program. */
  public static String doublingProgram(int rows, int width) {
    return doublingProgram("tensor<" + rows + "x" + width + "xf32>");
  }

  private static String doublingProgram(String type) {
    return """
    module {
      func.func public @main(%%x: %1$s) -> %1$s {
        %%0 = stablehlo.add %%x, %%x : %1$s
        return %%0 : %1$s
      }
    }
    """
        .formatted(type);
  }

  public TestBundle program(String file, String text) {
    files.put(file, text.getBytes(StandardCharsets.UTF_8));
    return this;
  }

  /** Adds a section {@code serving} to the manifest, of lines such as {@code weight: 2}. */
  public TestBundle serving(String lines) {
    manifest += "serving:\n" + lines.indent(2);
    return this;
  }

  /** Replaces a text in the manifest. */
  public TestBundle changed(String from, String to) {
    manifest = manifest.replace(from, to);
    return this;
  }

  /** Labels for the elements of {@code y}, in a file of the bundle. */
  public TestBundle labels(String text) {
    manifest = manifest.replace("{name: y,", "{name: y, labels: labels.txt,");
    return file("labels.txt", text.getBytes(StandardCharsets.UTF_8));
  }

  public TestBundle file(String file, byte[] bytes) {
    files.put(file, bytes);
    return this;
  }

  /** Writes the bundle; returns its folder. */
  public Path write(Path repository, String name) {
    try {
      Path folder = Files.createDirectories(repository.resolve(name));
      Map<String, String> digests = new LinkedHashMap<>();
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        Files.write(folder.resolve(file.getKey()), file.getValue());
        digests.put(file.getKey(), sha256(file.getValue()));
      }
      StringBuilder text =
          new StringBuilder(manifest).append(digests.isEmpty() ? "files: {}\n" : "files:\n");
      digests.forEach(
          (file, digest) ->
              text.append("  ").append(file).append(": ").append(digest).append('\n'));
      Files.writeString(folder.resolve("manifest.yaml"), text);
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[] safetensors(String header) {
    return safetensors(header, new byte[0]);
  }

  private static byte[] safetensors(String header, byte[] data) {
    byte[] json = (header + " ".repeat(8 - header.length() % 8)).getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(8 + json.length + data.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(json.length)
        .put(json)
        .put(data)
        .array();
  }

  private static String sha256(byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
