/**
 * What stands between the programs of a detector, with torchvision's semantics: {@link
 * dev.roundhouse.hooks.detection.DetectionGlue} decodes boxes, selects proposals, suppresses,
 * samples features and pastes masks. Functions of buffers and arrays: no state, no threads.
 */
@NullMarked
package dev.roundhouse.hooks.detection;

import org.jspecify.annotations.NullMarked;
