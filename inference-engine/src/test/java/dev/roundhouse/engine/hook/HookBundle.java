package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.testing.TestBundle;
import java.nio.charset.StandardCharsets;

/** Bundles whose programs double {@code x f32[n,2]}, with a {@code Model.java}. */
final class HookBundle {
  private HookBundle() {}

  /** With a class {@code Model} of these members. */
  static TestBundle of(String members) {
    return source(
        """
        import dev.roundhouse.bundle.tensor.*;
        import dev.roundhouse.hooks.*;
        import java.util.*;

        class Model implements ModelHooks {
        %s
        }
        """
            .formatted(members));
  }

  /** With this {@code Model.java}. */
  static TestBundle source(String source) {
    return TestBundle.doubling(2, 1, 4).file("Model.java", source.getBytes(StandardCharsets.UTF_8));
  }

  /** With a preprocess that does this and gives the inputs on. */
  static TestBundle preprocessing(String statements) {
    return of(
        """
          @Override public Tensors preprocess(HookRequest request) throws Exception {
            %s
            return request.inputs();
          }
        """
            .formatted(statements));
  }

  /** With a preprocess that does this for requests of the id {@code bad} alone. */
  static TestBundle bad(String statements) {
    return preprocessing("if (request.id().equals(\"bad\")) {" + statements + "}");
  }
}
