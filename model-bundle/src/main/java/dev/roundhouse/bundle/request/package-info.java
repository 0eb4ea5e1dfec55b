/** What a caller may say of one inference besides its tensors. Values; no thread owns them. */
@NullMarked
package dev.roundhouse.bundle.request;

import org.jspecify.annotations.NullMarked;
