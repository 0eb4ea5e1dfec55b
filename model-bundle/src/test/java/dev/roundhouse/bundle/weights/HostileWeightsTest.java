package dev.roundhouse.bundle.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Every lie a header can tell is refused by file, tensor, value and reason, before memory is spent.
 */
class HostileWeightsTest {
  @TempDir Path folder;

  private void assertRefused(byte[] bytes, String reason) {
    Path path = Safetensors.write(folder, bytes);
    assertThatThrownBy(() -> WeightsFile.open(path, AxisOrder.ROW_MAJOR, Optional.empty()).close())
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith(path + ": ")
        .hasMessageContaining(reason);
  }

  /** {@code T} stands for two F32 in 8 bytes, {@code M} for metadata that names {@code a}. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{a:T}                                      | __metadata__.argument_order is missing although there are 1 tensors",
        "{M,a:{dtype:'F4',shape:[16],data_offsets:[0,8]}} | tensor 'a': dtype 'F4' is not served",
        "{M,a:{dtype:'f32',shape:[2],data_offsets:[0,8]}} | tensor 'a': dtype 'f32' is not served",
        "{M,a:{dtype:'BYTES',shape:[2],data_offsets:[0,8]}} | tensor 'a': dtype 'BYTES' is not served",
        "{M,a:{dtype:7,shape:[2],data_offsets:[0,8]}} | tensor 'a': dtype is not a string",
        "{M,a:{shape:[2],data_offsets:[0,8]}}       | tensor 'a': lacks dtype",
        "{M,a:{dtype:'F32',data_offsets:[0,8]}}     | tensor 'a': lacks shape",
        "{M,a:{dtype:'F32',shape:[2]}}              | tensor 'a': lacks data_offsets",
        "{M,a:{dtype:'F32',shape:[2],data_offsets:[0,8],x:1}} | tensor 'a': has unknown key 'x'",
        "{M,a:{dtype:'F32',shape:[2],data_offsets:[8]}} | data_offsets [8] is not a [begin, end]",
        "{M,a:{dtype:'F32',shape:[2],data_offsets:[8,0]}} | data_offsets [8, 0] is not a [begin, end]",
        "{M,a:{dtype:'F32',shape:[2],data_offsets:[0,8,9]}} | data_offsets has more than 2 numbers",
        "{M,a:{dtype:'F32',shape:[2],data_offsets:[-8,0]}} | data_offsets holds -8, which is negative",
        "{M,a:{dtype:'F32',shape:[-2],data_offsets:[0,8]}} | shape holds -2, which is negative",
        "{M,a:{dtype:'F32',shape:[2.0],data_offsets:[0,8]}} | shape holds '2.0', which is not a whole number",
        "{M,a:{dtype:'F32',shape:['2'],data_offsets:[0,8]}} | shape holds '2', which is not a whole number",
        "{M,a:{dtype:'F32',shape:[[2]],data_offsets:[0,8]}} | which is not a whole number",
        "{M,a:{dtype:'F32',shape:2,data_offsets:[0,8]}} | shape is not a list of numbers",
        "{M,a:{dtype:'F32',shape:[9223372036854775808],data_offsets:[0,8]}} | 9223372036854775808, which does not fit in 63 bits",
        "{M,a:{dtype:'F32',shape:[4611686018427387904,4],data_offsets:[0,8]}} | shape [4611686018427387904,4] of f32 overflows",
        "{M,a:{dtype:'F32',shape:[2305843009213693952],data_offsets:[0,8]}} | overflows 63 bits",
        "{M,a:{dtype:'F32',shape:[3],data_offsets:[0,8]}} | data_offsets cover 8 bytes, but f32[3] needs 12",
        "{M,a:{dtype:'F32',shape:[3],data_offsets:[0,12]}} | tensor 'a' [0,12) ends beyond the data block of 8 bytes",
        "{M,a:{dtype:'F32',shape:[1],data_offsets:[0,4]}} | 4 bytes follow tensor 'a' and belong to no tensor",
        "{M,a:{dtype:'F32',shape:[1],data_offsets:[4,8]}} | tensor 'a' [4,8) leaves a hole of 4 bytes after the header",
        "{M,a:T,b:{dtype:'I8',shape:[4],data_offsets:[4,8]}} | tensor 'b' [4,8) overlaps tensor 'a', which ends at 8",
        "{M,a:T,b:T}                                | overlaps",
        "{M,a:T,a:T}                                | Duplicate",
        "{M,M,a:T}                                  | Duplicate",
        "{M,a:{dtype:'F32',dtype:'F32',shape:[2],data_offsets:[0,8]}} | Duplicate",
        "{M,a:[1]}                                  | tensor 'a': entry is not an object",
        "{M,a:T} {}                                 | header goes on after its JSON object",
        "[1]                                        | header is not a JSON object",
        "``                                         | header is not a JSON object",
        "{M,a:T                                     | header is not valid JSON",
        "{M,a:{dtype:{dtype:{dtype:{dtype:{dtype:{dtype:{dtype:{dtype:1}}}}}}}}} | dtype is not a string",
        "{__metadata__:7,a:T}                       | __metadata__ is not an object",
        "{__metadata__:{argument_order:['a']},a:T}  | __metadata__.argument_order is not a string",
        "{__metadata__:{argument_order:'a'},a:T}    | argument_order is not a JSON list of strings",
        "{__metadata__:{argument_order:'[1]'},a:T}  | argument_order is not a JSON list of strings",
        "{__metadata__:{argument_order:'[] []'},a:T} | argument_order is not a JSON list of strings",
        "{__metadata__:{argument_order:'[]'},a:T}   | argument_order leaves out tensor 'a'",
        "{__metadata__:{argument_order:'[@a@,@a@]'},a:T} | argument_order names 'a' twice",
        "{__metadata__:{argument_order:'[@a@,@z@]'},a:T} | argument_order names 'z', which is not a tensor",
      })
  void shouldNameTensorAndReasonWhenHeaderLies(String shorthand, String reason) {
    String json =
        shorthand
            .replace("T", "{dtype:'F32',shape:[2],data_offsets:[0,8]}")
            .replace("BY{dtype:'F32',shape:[2],data_offsets:[0,8]}ES", "BYTES")
            .replace("M", "__metadata__:{argument_order:'[@a@]'}")
            .replaceAll("([{,])([a-z_]+):", "$1\"$2\":")
            .replace('\'', '"')
            .replace("@", "\\\"");
    assertRefused(Safetensors.bytes(json, new byte[8]), reason);
  }

  @Test
  void shouldRefuseWhenLengthsLie() {
    byte[] json = "{}".getBytes(StandardCharsets.UTF_8);
    assertRefused(new byte[0], "is 0 bytes long");
    assertRefused(new byte[7], "is 7 bytes long");
    assertRefused(Safetensors.claiming(3, json, new byte[0]), "claims a header of 3 bytes");
    assertRefused(Safetensors.claiming(-1, json, new byte[0]), "header of 18446744073709551615");
    assertRefused(Safetensors.claiming(Long.MAX_VALUE, json, new byte[0]), "claims a header of 92");
    assertRefused(Safetensors.claiming(1, json, new byte[0]), "header is not valid JSON");
    assertRefused(Safetensors.bytes("{}", new byte[1]), "1 bytes follow the header");
    assertRefused(
        Safetensors.claiming(3, new byte[] {'{', (byte) 0xC3, '}'}, new byte[0]), "not valid JSON");
  }

  @Test
  void shouldRefuseWhenFileIsMissingOrAFolder() {
    assertThatThrownBy(
            () -> WeightsFile.open(folder.resolve("none"), AxisOrder.ROW_MAJOR, Optional.empty()))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("none: is not a file");
    assertThatThrownBy(() -> WeightsFile.open(folder, AxisOrder.ROW_MAJOR, Optional.empty()))
        .isInstanceOf(BundleException.class);
  }

  @Test
  void shouldSpendLittleMemoryWhenHeaderIsHuge() throws IOException {
    Path path = folder.resolve("weights.safetensors");
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.setLength(300_000_000);
      assertRefusedCheaply(file, path, 100_000_001L, "claims a header of 100000001 bytes");
      // A hundred million NUL bytes that the file really has.
      assertRefusedCheaply(file, path, 100_000_000L, "not valid JSON");
      String header =
          "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999],\"data_offsets\":[0,399999999999996]}}";
      file.seek(8);
      file.write(header.getBytes(StandardCharsets.UTF_8));
      assertRefusedCheaply(file, path, header.length(), "ends beyond the data block");
    }
  }

  private static void assertRefusedCheaply(
      RandomAccessFile file, Path path, long claimed, String reason) throws IOException {
    file.seek(0);
    file.writeLong(Long.reverseBytes(claimed));
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    BundleException refusal = null;
    try {
      WeightsFile.open(path, AxisOrder.ROW_MAJOR, Optional.empty()).close();
    } catch (BundleException e) {
      refusal = e;
    }
    long spent = threads.getCurrentThreadAllocatedBytes() - before;
    assertThat(refusal).isNotNull().hasMessageContaining(reason);
    assertThat(spent).as("bytes allocated before the refusal").isLessThan(1 << 20);
  }

  @Test
  void shouldThrowNothingElseWhenBytesAreMutated() {
    long seed = 20261122L;
    System.out.println("HostileWeightsTest seed " + seed);
    Random random = new Random(seed);
    byte[] original =
        Safetensors.bytes(
            "{\"__metadata__\":{\"argument_order\":\"[\\\"a\\\",\\\"b\\\"]\"},\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]}}",
            new byte[32]);
    int refused = 0;
    int rounds = 2000;
    for (int round = 0; round < rounds; round++) {
      byte[] bytes = original.clone();
      int limit = random.nextInt(5) == 0 ? bytes.length : bytes.length - 32;
      for (int edit = random.nextInt(3); edit >= 0; edit--) {
        bytes[random.nextInt(limit)] =
            (byte)
                (random.nextBoolean()
                    ? "0123456789[]{},:\"-eE.".charAt(random.nextInt(21))
                    : random.nextInt(256));
      }
      if (random.nextInt(6) == 0) {
        bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 8));
      }
      try {
        WeightsFile.open(Safetensors.write(folder, bytes), AxisOrder.REVERSED, Optional.empty())
            .close();
      } catch (BundleException _) {
        refused++;
      }
    }
    assertThat(refused).isBetween(rounds / 2, rounds - 1);
  }
}
