package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.hooks.Tensors;
import java.util.List;

/**
 * One request to a hooked model: preprocess, the programs, postprocess. Runs on threads for models'
 * code, one piece at a time.
 */
final class HookRun extends CodedRun {
  private final HookedModel model;
  private final ComposedRun run;

  HookRun(HookedModel model, ComposedRun run) {
    super(model, run);
    this.model = model;
    this.run = run;
  }

  void begin() {
    if (isRefused()) {
      return;
    }
    List<InputTensor> made =
        model.preprocesses()
            ? hook("preprocess", () -> model.hooks().preprocess(this), this::inputs)
            : run.inputs();
    if (made != null) {
      run.callOwn(model.inLane(), made, this::answer);
    }
  }

  private void answer(Answer answer) {
    if (isRefused()) {
      return;
    }
    List<OutputTensor> outputs = answer.outputs();
    List<OutputTensor> made =
        model.postprocesses()
            ? hook(
                "postprocess",
                () -> model.hooks().postprocess(this, Tensors.of(lent(outputs))),
                this::outputs)
            : outputs;
    if (made != null) {
      complete(made);
    }
  }
}
