import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.ModelHooks;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import dev.roundhouse.hooks.text.BertText;
import dev.roundhouse.hooks.text.TextBatch;
import java.io.IOException;

/** Callers send texts, and get the programs' embeddings, and how many tokens each text had. */
class Model implements ModelHooks {
  private static final int LONGEST = 256; // tokens, as the largest program is compiled

  private BertText text;

  @Override
  public void open(ModelContext model) throws IOException {
    text = BertText.fromVocabulary(model.asset("vocab.txt"), true).truncatedTo(LONGEST);
  }

  /** Rows are padded to the longest of them here, and to the next program's length by the server. */
  @Override
  public Tensors preprocess(HookRequest request) {
    TextBatch batch = text.batch(request.input("text").strings());
    Tensor ids = request.tensor("input_ids", DType.I32, batch.rows(), batch.length());
    Tensor mask = request.tensor("attention_mask", DType.I32, batch.rows(), batch.length());
    batch.putIds(ids.i32());
    batch.putAttentionMask(mask.i32());
    request.attach(batch);
    return Tensors.of(ids, mask);
  }

  @Override
  public Tensors postprocess(HookRequest request, Tensors outputs) {
    TextBatch batch = request.attachment(TextBatch.class);
    Tensor tokens = request.tensor("tokens", DType.I32, batch.rows());
    for (int row = 0; row < batch.rows(); row++) {
      tokens.i32().put(row, batch.row(row).length());
    }
    return Tensors.of(outputs.get("embedding"), tokens);
  }
}
