import static java.nio.charset.StandardCharsets.UTF_8;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.Calls;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.MetaModel;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Callers send how a text begins, and get it continued, each character when it is there. */
class Model implements MetaModel {
  private static final int WINDOW = 128; // characters that the decoder sees, as it is compiled
  private static final int END = 0; // the token before and behind a text
  private static final int MOST = 2000; // characters of a request's answer

  /** The last tokens of a text, as the decoder takes them: the oldest first, then padding. */
  private static final class Window {
    private final IntBuffer tokens;
    private int length;

    Window(Tensor tokens) {
      this.tokens = tokens.i32();
    }

    void add(int token) {
      if (length == WINDOW) {
        for (int i = 1; i < WINDOW; i++) {
          tokens.put(i - 1, tokens.get(i));
        }
        length--;
      }
      tokens.put(length++, token);
    }
  }

  private String[] characters;
  private final Map<Integer, Integer> tokens = new HashMap<>(); // by code point

  /** Of each token its character; they stand in a line, and the end stands for none. */
  @Override
  public void open(ModelContext model) {
    int[] all = new String(model.bytes("characters.txt"), UTF_8).codePoints().toArray();
    characters = new String[all.length + 1];
    characters[END] = "";
    for (int i = 0; i < all.length; i++) {
      characters[i + 1] = Character.toString(all[i]);
      tokens.put(all[i], i + 1);
    }
  }

  @Override
  public Tensors run(HookRequest request, Calls calls) throws InterruptedException {
    int most = request.input("max_tokens").i32().get(0);
    if (most < 1 || most > MOST) {
      throw HookException.invalid("'max_tokens' is %d; it is 1 to %d".formatted(most, MOST));
    }
    Tensor seen = request.tensor("tokens", DType.I32, 1, WINDOW);
    Tensor length = request.tensor("length", DType.I32, 1);
    Window window = new Window(seen);
    window.add(END);
    for (int character : request.input("text_input").string(0).codePoints().toArray()) {
      window.add(token(character));
    }
    for (int made = 0; made < most; made++) {
      length.i32().put(0, window.length);
      Tensors answer = calls.call("decoder", Tensors.of(seen, length));
      int next = likeliest(answer.get("scores").f32());
      if (next == END) {
        break;
      }
      request.answer(Tensors.of(request.strings("text_output", List.of(characters[next]))));
      window.add(next);
    }
    return Tensors.of(); // all has been sent
  }

  private int token(int character) {
    Integer token = tokens.get(character);
    if (token == null) {
      throw HookException.invalid(
          "'text_input' has the character '%s'; the model knows %s"
              .formatted(Character.toString(character), String.join("", characters).replace("\n", "\\n")));
    }
    return token;
  }

  private static int likeliest(FloatBuffer scores) {
    int best = 0;
    for (int i = 1; i < scores.remaining(); i++) {
      best = scores.get(i) > scores.get(best) ? i : best;
    }
    return best;
  }
}
