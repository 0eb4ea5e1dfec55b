/**
 * A bundle's weights: a safetensors file, its header trusted in nothing before it is checked, read
 * out in the order and layout {@code @main} takes them. Files are read-only and may be read by any
 * thread until closed.
 */
@NullMarked
package dev.roundhouse.bundle.weights;

import org.jspecify.annotations.NullMarked;
