package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.InputTensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Admission's findings about a request, looked up once.
 *
 * @param rows extent of the batch axis; 1 for a model without one
 * @param variant index of the shape variant that fits the inputs
 * @param inputs in the order the program takes them
 * @param inputBytes of all inputs together
 * @param answerBytes of all requested outputs together, as contract and rows promise, and of what
 *     their caller makes of them
 * @param outputs indices of the requested outputs, ascending; null for all
 */
public record Admitted(
    int rows,
    int variant,
    List<InputTensor> inputs,
    long inputBytes,
    long answerBytes,
    int @Nullable [] outputs) {}
