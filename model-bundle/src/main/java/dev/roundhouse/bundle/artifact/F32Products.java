package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.bytecode.MalformedBytecodeException;
import dev.roundhouse.bundle.error.BundleException;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * Rewrites an artifact so that its products (dots and convolutions) are computed in f32, without a
 * compiler: text by its tokens, portable artifacts by the attributes of their operations. Nothing
 * is changed that is not understood, and what is written is read again before it is returned. Any
 * thread.
 */
public final class F32Products {
  private static final byte[] TF32 = "tf32".getBytes(StandardCharsets.US_ASCII);

  private F32Products() {}

  /** Which products are rewritten. */
  public enum Scope {
    /**
     * Those that ask for TF32 by name become f32 algorithms; a file in an encoding that is not
     * known here is left to the compiler.
     */
    TF32_ALGORITHMS,
    /**
     * Those that ask for TF32 become f32 algorithms, and those that ask for no algorithm get
     * precision HIGHEST, without which a device may use TF32. Other algorithms stay: their author
     * chose them by name.
     */
    EVERY_PRODUCT
  }

  /**
   * An artifact whose products are as asked.
   *
   * @param code the artifact as it was given, when nothing had to change
   * @param algorithms products whose TF32 algorithm is f32 now
   * @param precisions products whose precision is HIGHEST now
   * @param unchecked operations whose precision an artifact does not say; only for {@link
   *     Scope#EVERY_PRODUCT}
   */
  public record Result(byte[] code, int algorithms, int precisions, Set<String> unchecked) {}

  /**
   * Rewrites an artifact.
   *
   * @param code borrowed, never changed
   * @param fileName for messages
   * @throws BundleException when a product is to be rewritten and how is not understood
   */
  public static Result rewrite(byte[] code, String fileName, Scope scope) {
    if (BytecodeHeader.matches(code)) {
      return bytecode(code, fileName, scope);
    }
    if (scope == Scope.TF32_ALGORITHMS && !contains(code, TF32)) {
      return new Result(code, 0, 0, Set.of());
    }
    TextProducts text = new TextProducts(code, fileName, scope);
    Result result = text.rewrite();
    if (result.code() != code) {
      Result again = new TextProducts(result.code(), fileName, scope).rewrite();
      if (again.code() != result.code()) {
        throw notVerified(fileName);
      }
    }
    return result;
  }

  private static Result bytecode(byte[] code, String fileName, Scope scope) {
    BytecodeProducts products;
    try {
      products = BytecodeProducts.read(code, scope);
      if (scope == Scope.TF32_ALGORITHMS && !products.hasTf32()) {
        return new Result(code, 0, 0, Set.of());
      }
    } catch (MalformedBytecodeException unknown) {
      if (scope == Scope.TF32_ALGORITHMS) {
        return new Result(code, 0, 0, Set.of());
      }
      throw refused(fileName, unknown);
    }
    try {
      Result result = products.rewrite(code);
      if (result.code() != code && BytecodeProducts.read(result.code(), scope).isPending()) {
        throw notVerified(fileName);
      }
      return result;
    } catch (MalformedBytecodeException unknown) {
      throw refused(fileName, unknown);
    }
  }

  private static boolean contains(byte[] code, byte[] word) {
    for (int i = 0; i + word.length <= code.length; i++) {
      int at = 0;
      while (at < word.length && code[i + at] == word[at]) {
        at++;
      }
      if (at == word.length) {
        return true;
      }
    }
    return false;
  }

  private static BundleException refused(String fileName, MalformedBytecodeException unknown) {
    return new BundleException(
        fileName,
        "cannot be made to compute in f32, as its encoding is not understood ("
            + unknown.getMessage()
            + "); export it with numerics f32, or as StableHLO text",
        unknown);
  }

  private static BundleException notVerified(String fileName) {
    return new BundleException(
        fileName,
        "could not be made to compute in f32: what was written reads otherwise; export it with"
            + " numerics f32");
  }
}
