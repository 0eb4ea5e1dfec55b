/**
 * From text to the integers that a model takes: {@link dev.roundhouse.hooks.text.BertText} reads a
 * tokenizer's files and encodes texts and pairs as Hugging Face's {@code tokenizers} does. All of
 * it is immutable once read and may be used by any number of threads; nothing here keeps state
 * between texts.
 */
@NullMarked
package dev.roundhouse.hooks.text;

import org.jspecify.annotations.NullMarked;
